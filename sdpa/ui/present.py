"""What a page leaves out: on slides all but figure and caption, by link whatever it names.

Both live in the link, as controls of the frame that nobody sees: ``?present=true`` shows slides,
``?hide=prediction,formula`` leaves parts of the page out. Whoever opens such a link keeps them
from page to page.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

# What a link can leave out, by what a lecturer calls it.
PARTS = {
    "prediction": "Prediction",
    "controls": "Controls",
    "presets": "Presets",
    "formula": "Formula",
    "caption": "Caption",
    "tools": "Tools of the figure",
    "prose": "Text",
}
_FOLDED = {"prose", "formula"}  # on slides
# Parts that Streamlit or the figure must draw, since they hold what others need.
_UNSEEN = {
    "controls": "[class*='st-key-controls-'] { display: none; }",
    "caption": ".live-figure figcaption { clip-path: inset(50%); height: 1px; margin: 0; "
    "overflow: hidden; position: absolute; width: 1px; }",
    "tools": ".live-figure .tools { display: none; }",
}


def read_link() -> None:
    """Take what the link says; called once in each run, before anything else is drawn."""
    with st.container(key="link"):
        st.checkbox("Present", key="present", bind="query-params")
        st.text_input("Leave out", key="hide", bind="query-params")
    unseen = [rule for part, rule in _UNSEEN.items() if part in hidden()]
    if unseen:
        st.html(f"<style>{' '.join(unseen)}</style>")


def presenting() -> bool:
    """Whether the page is shown as slides."""
    return bool(st.session_state.get("present"))


def hidden() -> frozenset[str]:
    """Name the parts that the link leaves out; what it says wrongly is none."""
    said = str(st.session_state.get("hide") or "").lower().split(",")
    return frozenset(part.strip() for part in said) & PARTS.keys()


def shows(part: str) -> bool:
    """Whether the page has a part: not left out by the link, nor folded away on slides."""
    return part not in hidden() and not (presenting() and part in _FOLDED)


def start() -> None:
    """Offer to show the page as slides."""
    st.button("Present", type="tertiary", key="start slides", on_click=_set, args=(True,))


def bar(share: Callable[[], None]) -> None:
    """Draw what stays of the frame on slides: the link, the keys, and the way back."""
    with st.container(key="slides", horizontal=True, gap="small"):
        share()
        _COMPONENT(key="keys of slides")
        st.button("Leave", type="tertiary", key="leave slides", on_click=_set, args=(False,))


def _set(present: bool) -> None:
    st.session_state["present"] = present


_LOADER = """
const keys = import(new URL('app/static/present.js', document.baseURI))
export default function ({ parentElement }) {
  keys.then((module) => module.start(parentElement))
  return () => keys.then((module) => module.stop())
}
"""
_COMPONENT = st.components.v2.component("sdpa.present", js=_LOADER, isolate_styles=False)
