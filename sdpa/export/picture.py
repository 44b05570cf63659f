"""Views as pictures for slides and print: PNG, SVG and PDF by Kaleido, which drives a browser.

A picture is laid out as on the screen, on a canvas of about 850 by 480 pixels, and enlarged as
a whole: on a slide of 1920 by 1080 text, lines and margins are 2.25 times as large.
"""

from __future__ import annotations

import asyncio
import importlib.util
import re
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import plotly.graph_objects as go

from sdpa.views.naming import state_line
from sdpa.views.palette import Theme
from sdpa.views.view import View

FORMATS = ("png", "svg", "pdf")
BUNDLE = Path(__file__).parents[2] / "static" / "plotly-cartesian.min.js"
CANVAS = 853, 480  # px, the layout's own: 16:9, and as wide as a figure beside its controls
SMALLEST = 640, 360  # below this a picture shrinks as a whole, else its texts would collide
FRAME, POINT = 9.6, 0.75  # px, what Kaleido leaves white around a PDF; a pixel in points
INSTALL = (
    "Pictures need Kaleido and a Chrome or Chromium: python -m pip install -r "
    "requirements-export.txt, then kaleido_get_chrome if no such browser is here."
)
FAILING = "The browser that Kaleido found does not start."


class MissingError(RuntimeError):
    """Something that is installed apart is not here; says what to install."""


class Size(NamedTuple):
    """Width and height in pixels of the picture."""

    width: int
    height: int

    @property
    def enlarged(self) -> float:
        """How many of the picture's pixels one of the layout's becomes."""
        largest = min(self.width / CANVAS[0], self.height / CANVAS[1])
        if largest >= 1:
            return largest
        return min(1.0, self.width / SMALLEST[0], self.height / SMALLEST[1])


Draw: TypeAlias = Callable[[go.Figure, str, Size], bytes]


def figure(
    view: View, size: Size, theme: Theme, small_print: bool, beyond: float = 0.0
) -> go.Figure:
    """Lay the view out for a picture of this size, and blank paper ``beyond`` it, in its pixels."""
    drawn = view.figure_in(theme)
    margin = view.drawing.layout["margin"]
    room = 22 if small_print else 0
    blank = beyond / size.enlarged
    drawn.update_layout(
        width=size.width / size.enlarged + blank,
        height=size.height / size.enlarged + blank,
        margin={
            "l": margin["l"] + 10,
            "r": margin["r"] + 18 + blank,
            "t": margin["t"] + 12,
            "b": margin["b"] + 8 + room + blank,
        },
    )
    if small_print:
        drawn.update_layout(
            title={
                "text": state_line(view),
                "font": {"size": 11},
                "x": 0,
                "xref": "container",
                "y": 0,
                "yref": "container",
                "yanchor": "bottom",
                "pad": {"l": 14, "b": 8 + blank},
            }
        )
    return drawn


@contextmanager
def drawer() -> Iterator[Draw]:
    """Start the one browser that draws all pictures; gives the function from figure to bytes.

    Raises
    ------
    MissingError
        If Kaleido or a browser is not here, or the browser does not start.
    """
    if importlib.util.find_spec("kaleido") is None:
        raise MissingError(INSTALL)
    import kaleido
    from kaleido.errors import BrowserFailedError, ChromeNotFoundError

    # A loop of our own, in a thread of its own so that the caller may have one too. Kaleido's
    # server would be shorter, but waits for ever if its browser dies.
    runner = asyncio.Runner()
    with ThreadPoolExecutor(max_workers=1) as thread:

        def run(work: Coroutine[Any, Any, Any]) -> Any:
            return thread.submit(runner.run, work).result()

        def draw(figure: go.Figure, format: str, size: Size) -> bytes:
            options = _options(figure, format, size)
            drawn: bytes = run(browser.calc_fig(figure, opts=options))
            return drawn

        try:
            # Plotly's own bundle: pictures need no network, and no formula of theirs MathJax.
            browser = kaleido.Kaleido(plotlyjs=BUNDLE.as_uri(), mathjax=False)
            run(browser.__aenter__())
            try:
                yield draw
            finally:
                run(browser.__aexit__(None, None, None))
        except ChromeNotFoundError:
            raise MissingError(INSTALL) from None
        except BrowserFailedError:
            raise MissingError(f"{FAILING} {INSTALL}") from None
        finally:
            thread.submit(runner.close).result()


def _options(figure: go.Figure, format: str, size: Size) -> dict[str, Any]:
    # Kaleido's canvas cuts off what is less than a pixel: 1919.99 would lose a column.
    whole = 0.25 / size.enlarged if format == "png" else 0.0
    return {
        "format": format,
        "width": figure.layout.width + whole,
        "height": figure.layout.height + whole,
        "scale": size.enlarged,
    }


def picture(
    draw: Draw, view: View, format: str, size: Size, theme: Theme, small_print: bool
) -> bytes:
    """Draw a view as a PNG, SVG or PDF of exactly this size."""
    beyond = 2 * FRAME if format == "pdf" else 0.0
    drawn = draw(figure(view, size, theme, small_print, beyond), format, size)
    if format == "svg":
        return described(drawn, view)
    return unframed(drawn, size) if format == "pdf" else drawn


def unframed(pdf: bytes, size: Size) -> bytes:
    """Take off the frame of 0.1 inch that Kaleido leaves white around a page.

    The picture has as much blank paper more, so that the page keeps its size. Its new box is
    appended, as PDF foresees for changes; a file that is built otherwise stays as it is.
    """
    page = re.search(rb"(\d+) 0 obj\n<</Type /Page\n.*?endobj\n", pdf, re.DOTALL)
    end = re.search(rb"trailer\n<<(.*?)>>\nstartxref\n(\d+)\n%%EOF\n$", pdf, re.DOTALL)
    if not page or not end:
        return pdf
    frame = FRAME * POINT
    corner = frame + size.width * POINT, frame + size.height * POINT
    box = f"/MediaBox [{frame:g} {frame:g} {corner[0]:g} {corner[1]:g}]".encode()
    changed, start = re.sub(rb"/MediaBox \[[^]]*\]", box, page[0]), len(pdf)
    return b"".join(
        [
            pdf,
            changed,
            b"xref\n%s 1\n%010d 00000 n \n" % (page[1], start),
            b"trailer\n<<%s\n/Prev %s>>\n" % (end[1], end[2]),
            b"startxref\n%d\n%%%%EOF\n" % (start + len(changed)),
        ]
    )


def described(svg: bytes, view: View) -> bytes:
    """Put the view's name and its caption into an SVG, where screen readers look for them."""
    words = f"<title>{escape(view.name)}</title><desc>{escape(view.caption)}</desc>"
    text = svg.decode()
    return re.sub(r"^(<svg\b[^>]*>)", lambda found: found[1] + words, text, count=1).encode()
