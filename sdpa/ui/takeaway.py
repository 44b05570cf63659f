"""What a lecturer takes along: all figures in one file, made in the browser."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

import streamlit as st

from sdpa.views.message import message
from sdpa.views.view import View

_LOADER = """
const lecture = import(new URL('app/static/lecture.js', document.baseURI))
export default function (component) {
  lecture.then((module) => module.offer(component))
}
"""
_COMPONENT = st.components.v2.component("sdpa.lecture", js=_LOADER, isolate_styles=False)
_WANTED = "figures wanted"


def offer_figures(figures: Callable[[], Iterable[tuple[str, str, View]]]) -> None:
    """Offer figures as one ZIP.

    Parameters
    ----------
    figures : callable
        Gives for each figure what its files' names begin with, its page's address, and the view.
        Called once they are wanted.
    """
    text = ""
    if order := st.session_state.pop(_WANTED, 0):
        rows = (
            f'{{"prefix":"{prefix}","page":"{page}","message":{message(view, moving=False)}}}'
            for prefix, page, view in figures()
        )
        text = f'{{"order":{order},"figures":[{",".join(rows)}]}}'
    _COMPONENT(data=text.encode(), key="figures", on_wanted_change=_want)


def _want() -> None:
    st.session_state[_WANTED] = st.session_state["figures"].wanted  # counts the presses


def app_address(url_path: str) -> str:
    """Give the address of the app, as the browser that looks at one of its pages has it."""
    here = urlsplit(st.context.url or "http://localhost:8501/")
    path = here.path.rstrip("/").removesuffix(f"/{url_path}")
    return f"{here.scheme}://{here.netloc}{path}"
