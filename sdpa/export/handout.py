"""The handout: the whole lecture as one page that needs no network, for screen and paper."""

from __future__ import annotations

from html import escape

from sdpa.export.lecture import CHECK_CLAIM, CHECK_PAGE, LAST, MINUTES, STEPS, TITLE, Step, span
from sdpa.export.page import block, document
from sdpa.views.naming import query
from sdpa.views.palette import Theme

NAME = "handout.html"


def handout(app_url: str, theme: Theme | None = None) -> str:
    """Write the lecture's plan with its figures, live, and links into the app.

    Parameters
    ----------
    app_url : str
        Where the app runs, such as http://localhost:8501.
    theme : {"light", "dark"}, optional
        Else the page follows the reader's system.
    """
    app = app_url.rstrip("/")
    steps = [_step(step, place, app) for place, step in enumerate(STEPS, start=1)]
    check = f'<a href="{escape(app)}/{CHECK_PAGE}">Check yourself</a>'
    body = (
        f'<main class="handout"><h1>{escape(TITLE)}</h1>'
        f"<p>A lecture of {MINUTES} minutes along the chain. Its figures work on this page, "
        "without a network; the links lead into the app.</p>"
        f'{"".join(steps)}<article><header><p class="minutes">{span(LAST)}</p>'
        f'<h2>{LAST}. Check</h2></header><p class="claim">{escape(CHECK_CLAIM)}</p>'
        f'<p class="links">In the app: {check}</p></article></main>'
    )
    return document(TITLE, body, theme)


def _step(step: Step, place: int, app: str) -> str:
    view = step.drawn()
    said = "".join(f"<li>{escape(text)}</li>" for text in step.say)
    states = {"This figure": step.state, **step.presets}
    links = " · ".join(
        f'<a href="{escape(f"{app}/{step.page}{query(step.drawn(state))}")}">{escape(label)}</a>'
        for label, state in states.items()
    )
    return (
        f'<article><header><p class="minutes">{span(place)}</p>'
        f"<h2>{place}. {escape(step.title)}</h2></header>"
        f'<p class="claim">{escape(step.claim)}</p>{block(view, f"step{place}")}'
        f'<div class="notes"><div><h3>Say</h3><ul>{said}</ul></div>'
        f"<div><h3>Ask</h3><p>{escape(step.ask)}</p>"
        f'<p class="answer">{escape(step.answer(view))}</p></div></div>'
        f'<p class="links">In the app: {links}</p></article>'
    )
