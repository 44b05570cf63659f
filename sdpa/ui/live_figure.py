"""The live figure: one component that draws every view of every page.

Its JavaScript and Plotly lie in ``static/`` and are loaded once a page. What is sent with
each release is the view's message.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import streamlit as st

from sdpa.views.message import message
from sdpa.views.view import View

# The inline part travels with every message, so it only loads the module. It can't await:
# Streamlit calls what the last run returned when the figure leaves the page.
_LOADER = """
const live = import(new URL('app/static/live_figure.js', document.baseURI))
export default function (component) {
  live.then((module) => module.draw(component))
  return () => live.then((module) => module.remove(component.parentElement))
}
"""
_COMPONENT = st.components.v2.component("sdpa.live_figure", js=_LOADER, isolate_styles=False)
_WANTED = "page wanted of"

page_of: Callable[[View], str] | None = None  # writes a view as a page in one file; set by app.py


def show(view: View) -> None:
    """Draw a view: its figure, under it the caption, and its data one key press away."""
    text = message(view)
    if page_of and st.session_state.get(_WANTED) == view.name:
        del st.session_state[_WANTED]
        text = f'{text[:-1]},"page":{json.dumps(page_of(view))}}}'

    def want_page() -> None:
        st.session_state[_WANTED] = view.name

    _COMPONENT(data=text.encode(), key=f"figure {view.name}", on_page_change=want_page)
