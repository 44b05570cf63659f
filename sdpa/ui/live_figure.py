"""The live figure: one component that draws every view of every page.

Its JavaScript and Plotly lie in ``static/`` and are loaded once a page. What is sent with
each release is the view's message.
"""

from __future__ import annotations

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


def show(view: View) -> None:
    """Draw a view: its figure, under it the caption, and its data one key press away."""
    _COMPONENT(data=message(view).encode(), key=f"figure {view.name}")
