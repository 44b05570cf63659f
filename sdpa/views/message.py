"""The message: a view as the text that a browser draws from, here and in an exported page.

It is one JSON text: the drawing in its state, for each slider the frames that are shown while
it is dragged, and what the browser needs to save it as a file. Arrays travel as base64;
``static/live_figure.js`` decodes them.
"""

from __future__ import annotations

import base64
import json
import math
from functools import lru_cache
from typing import Any

import numpy as np

from sdpa.views.code import code
from sdpa.views.naming import query, state_line, stem
from sdpa.views.palette import THEMES
from sdpa.views.view import Drawing, State, View, ViewSpec, draw, sweep, without


def message(view: View, *, moving: bool = True) -> str:
    """Write a view as the JSON text that the browser draws from; ``moving`` with its sweeps."""
    state = tuple(view.state.items())
    swept = view.spec.swept if moving else {}
    sweeps = ",".join(
        f'"{key}":{{"index":{parameter.values.index(view.state[key])},'
        f'"values":{to_json(parameter.values)},'
        f'"frames":{_frames(view.spec, key, without(key, state))}}}'
        for key, parameter in swept.items()
    )
    return (
        f'{{"view":{_drawing(view.spec, state)},"state":{to_json(dict(view.state))},'
        f'"marks":{to_json(view.marks)},"file":{_file(view.spec, state)},'
        f'"sweeps":{{{sweeps}}}}}'
    )


# What a class looks at is written once: a release costs the server a look into these.
@lru_cache(maxsize=512)
def _drawing(spec: ViewSpec, state: State) -> str:
    drawing = draw(spec, state)
    return to_json(
        {
            "data": drawing.data,
            "layout": drawing.layout,
            "caption": drawing.caption,
            "height": drawing.height,
            "narrow": drawing.narrow,
            "columns": cells(drawing),
        }
    )


@lru_cache(maxsize=512)
def _file(spec: ViewSpec, state: State) -> str:
    view = View(spec, dict(state), draw(spec, state))
    names = {"name": view.name, "stem": stem(view), "line": state_line(view), "query": query(view)}
    return to_json({**names, "code": code(view), "themes": THEMES})


@lru_cache(maxsize=256)
def _frames(spec: ViewSpec, key: str, others: State) -> str:
    return to_json(
        [
            {"data": frame.data, "layout": frame.layout, "caption": frame.caption}
            for frame in sweep(spec, key, others).frames
        ]
    )


def cells(drawing: Drawing) -> dict[str, list[Any]]:
    """Give the columns of the plotted data as JSON can hold them."""
    return {name: [_cell(item) for item in column] for name, column in drawing.columns.items()}


def to_json(value: Any) -> str:
    """Write drawings, frames and their arrays as the text that the browser decodes."""
    return json.dumps(value, default=_encode, separators=(",", ":"), ensure_ascii=False)


def _encode(value: np.ndarray) -> Any:
    """Send arrays as base64 of single precision where it holds them: 7 digits fill any screen."""
    if value.dtype.kind not in "fiu":
        return value.tolist()
    size = np.abs(value[np.isfinite(value) & (value != 0)])
    narrow = size.size == 0 or (size.min() > 1e-37 and size.max() < 1e38)
    dtype = "f4" if narrow else "f8"
    flat = np.where(np.isfinite(value), value, np.nan).astype(f"<{dtype}")
    encoded: dict[str, Any] = {"dtype": dtype, "bdata": base64.b64encode(flat.tobytes()).decode()}
    if value.ndim == 2:
        encoded["shape"] = value.shape
    return encoded


def _cell(item: Any) -> Any:
    item = item.item() if isinstance(item, np.generic) else item
    if isinstance(item, float) and not math.isfinite(item):
        return str(item)
    return item
