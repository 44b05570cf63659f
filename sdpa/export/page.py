"""Views as pages in one file: figure, caption and sliders work without a server or a network.

A page carries Plotly, the live figure's JavaScript and the drawings of all states that its
sliders reach. Where a view has several sliders, every combination of their values is in it, so
that the picture is right wherever they stand; if those are too many, the last sliders are held.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from sdpa.export import formula
from sdpa.export.picture import BUNDLE
from sdpa.parameters import Parameter
from sdpa.views.code import about
from sdpa.views.message import cells, to_json
from sdpa.views.palette import CATEGORICAL, THEMES, Theme
from sdpa.views.view import Drawing, View, draw, varying

MOST_STATES = 700
SLOT = "/* plotly-cartesian.min.js */"
ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
# No address but the file itself, whatever a browser would like to fetch.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)


def page(view: View, theme: Theme | None = None, *, plotly: str | None = None) -> str:
    """Write one view as a page of its own.

    Parameters
    ----------
    view : View
        In the state that the page opens with.
    theme : {"light", "dark"}, optional
        Else the page follows the reader's system.
    plotly : str, optional
        What stands in the place of Plotly's code; ``SLOT`` for who puts that in later.
    """
    title = about(view.name)
    body = f"<main><h1>{escape(title.rstrip('.'))}</h1>{block(view, 'figure')}</main>"
    return document(title.rstrip("."), body, theme, plotly=plotly)


def document(
    title: str, body: str, theme: Theme | None = None, *, plotly: str | None = None
) -> str:
    """Write a whole page around blocks: styles before them, Plotly and the scripts after."""
    styles = [theme_rules(theme), _text(ROOT / "assets" / "style.css"), _text(HERE / "page.css")]
    module = _text(ROOT / "static" / "live_figure.js") + _text(HERE / "page.js")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{''.join(styles)}</style>\n</head>\n"
        f"<body>\n{body}\n<script>{_text(BUNDLE) if plotly is None else plotly}</script>\n"
        f'<script type="module">\n{module}</script>\n</body>\n</html>\n'
    )


def block(view: View, name: str) -> str:
    """Write a figure with its sliders; ``name`` keeps them apart from other blocks of the page."""
    live, held = _split(view)
    frames = _frames(view, live)
    # "<" could end the script that holds the text.
    data = to_json(_data(view, live, frames, name)).replace("<", "\\u003c")
    sliders = "".join(_slider(row, row.values.index(view.state[row.key]), name) for row in live)
    fixed = " · ".join(
        f"{escape(row.label)}: {escape(row.text(view.state[row.key]))}" for row in held
    )
    return (
        f'<section class="st-key-bench-{name} block" data-name="{name}">'
        f'<div class="controls">{sliders}'
        + (f'<p class="held">{fixed}</p>' if fixed else "")
        + f'</div><div class="figure"><p>{escape(view.caption)}</p></div>'
        + f'<div class="formula">{formula.html(view.formula)}</div>'
        + f'<script type="application/json">{data}</script></section>'
    )


def _split(view: View) -> tuple[list[Parameter], list[Parameter]]:
    """Choose the sliders that move, in their order while their states are few enough."""
    live: list[Parameter] = []
    for row in view.spec.swept.values():
        if math.prod(len(other.values) for other in [*live, row]) <= MOST_STATES:
            live.append(row)
    return live, [row for row in view.spec.parameters if row not in live]


def _frames(view: View, live: Sequence[Parameter]) -> list[dict[str, Any]]:
    """Draw every state of the live sliders, the last one moving fastest; keep what differs."""
    keys = [row.key for row in live]
    drawings = []
    for values in itertools.product(*(row.values for row in live)):
        state = {**view.state, **dict(zip(keys, values, strict=True))}
        drawings.append(draw(view.spec, tuple(state.items())))
    traces = [varying([d.data[i] for d in drawings]) for i in range(len(drawings[0].data))]
    layouts = varying([d.layout for d in drawings])
    others = varying([_others(d) for d in drawings])
    return [
        {
            "data": [trace[i] for trace in traces],
            "layout": layouts[i],
            "caption": drawing.caption,
            **others[i],
        }
        for i, drawing in enumerate(drawings)
    ]


def _others(drawing: Drawing) -> dict[str, Any]:
    return {"columns": cells(drawing), "formula": formula.html(drawing.formula)}


def _data(
    view: View, live: Sequence[Parameter], frames: list[dict[str, Any]], name: str
) -> dict[str, Any]:
    drawing = view.drawing
    return {
        "view": {
            "data": drawing.data,
            "layout": drawing.layout,
            "caption": drawing.caption,
            "height": drawing.height,
            "narrow": drawing.narrow,
            "columns": cells(drawing),
        },
        "marks": view.marks,
        "sliders": [
            {
                "key": f"{name}-{row.key}",
                "index": row.values.index(view.state[row.key]),
                "texts": [row.text(value) for value in row.values],
            }
            for row in live
        ],
        "frames": frames,
    }


def _slider(row: Parameter, index: int, name: str) -> str:
    key = f"{name}-{row.key}"
    text = escape(row.text(row.values[index]))
    return (
        f'<div class="st-key-{key} slider"><label for="{key}">{escape(row.label)}</label>'
        f'<output for="{key}">{text}</output><input id="{key}" type="range" min="0" '
        f'max="{len(row.values) - 1}" value="{index}" aria-valuetext="{text}" '
        'autocomplete="off"></div>'
    )


def theme_rules(theme: Theme | None) -> str:
    """Set the colours under the names that the live figure reads; print is always light."""
    if theme:
        return f":root {{ color-scheme: {theme}; {_variables(theme)} }}\n"
    return (
        f":root {{ color-scheme: light; {_variables('light')} }}\n"
        "@media screen and (prefers-color-scheme: dark) "
        f"{{ :root {{ color-scheme: dark; {_variables('dark')} }} }}\n"
    )


def _variables(theme: Theme) -> str:
    colours = THEMES[theme]
    named = {
        "text-color": colours["ink"],
        "background-color": colours["paper"],
        "secondary-background-color": colours["panel"],
        "border-color": colours["line"],
        "primary-color": colours["scaled"],
        "chart-categorical-colors": ", ".join(str(colours[name]) for name in CATEGORICAL),
        "chart-sequential-colors": ", ".join(colours["sequential"]),
        "chart-diverging-colors": ", ".join(colours["diverging"]),
        "font": "Arial, Helvetica, sans-serif",
        "button-radius": "0.25rem",
    }
    return " ".join(f"--st-{name}: {value};" for name, value in named.items())


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
