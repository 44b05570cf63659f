"""The frame around every page: page table, menu, and the links that carry a reader through."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from sdpa.ui import live_figure, present
from sdpa.ui.share import share
from sdpa.views.view import View

ROOT = Path(__file__).parents[2]
TITLE = "Why attention divides by √dₖ"


@dataclass(frozen=True)
class Page:
    """A row of the page table; ``url_path`` is public, so it stays."""

    url_path: str
    file: str
    menu: str
    section: str = "Lesson"


PAGES = (
    Page("", "pages/home.py", "The chain"),
    Page("dot-product", "pages/dot-product.py", "Dot product"),
    Page("variance", "pages/variance.py", "Spread"),
    Page("temperature", "pages/temperature.py", "Temperature"),
    Page("gradients", "pages/gradients.py", "Gradients"),
    Page("overflow", "pages/overflow.py", "Overflow"),
    Page("attention", "pages/attention.py", "Whole attention"),
    Page("worked-example", "pages/worked-example.py", "By hand"),
    Page("assumptions", "pages/assumptions.py", "Assumptions", "Deeper"),
    Page("training", "pages/training.py", "Train it", "Deeper"),
    Page("alternatives", "pages/alternatives.py", "Other ways", "Deeper"),
    Page("width", "pages/width.py", "One rule, five places", "Deeper"),
    Page("check", "pages/check.py", "Check yourself", "Class"),
    Page("lecture", "pages/lecture.py", "Lecture", "Class"),
)
SECTIONS = tuple(dict.fromkeys(page.section for page in PAGES))

_FRAMED = "frame is drawn"


def run(page_of: Callable[[View], str]) -> None:
    """Draw the frame and the page that the address names.

    Parameters
    ----------
    page_of : callable
        Writes a view as a page in one file, for readers who take it away.
    """
    live_figure.page_of = page_of
    st.set_page_config(
        page_title=TITLE,
        page_icon=str(ROOT / "assets" / "icon.svg"),
        layout="wide",
        menu_items={
            "About": f"**{TITLE}**: an interactive lesson. Every plotted number is computed."
        },
    )
    _settle_memory()
    page = _navigation()
    st.html(ROOT / "assets" / "style.css")
    with st.container(key="frame", gap=None):  # one, since each takes a gap of the page's height
        present.read_link()
        if present.presenting():
            st.html(ROOT / "assets" / "present.css")
            present.bar(share)
        elif not st.context.is_embedded:
            _menu(page.url_path)
    st.session_state[_FRAMED] = True
    page.run()
    if present.presenting() or not st.context.is_embedded:
        _onward(page.url_path)


def ensure_frame() -> None:
    """Start anew through the frame if a page runs without it; every page's first call.

    After a server start Streamlit knows nothing of the page table: a link straight to a page
    is then the first request, and runs the file in ``pages/`` by itself. The flag holds for
    one run only, else every later run would pass for a framed one.
    """
    if not st.session_state.pop(_FRAMED, False):
        _navigation()
        st.rerun()


def _navigation() -> Any:
    return st.navigation(
        [
            st.Page(
                ROOT / page.file,
                title=page.menu,
                url_path=page.url_path,
                default=page.url_path == "",
            )
            for page in PAGES
        ],
        position="hidden",
    )


@st.cache_resource(show_spinner=False)
def _settle_memory() -> None:
    # What the imports built lives as long as the server: the collector need not walk it again.
    gc.collect()
    gc.freeze()


def _menu(url_path: str) -> None:
    """Draw the menu into the header: in Streamlit's own, the sections are lists only by name."""
    here = PAGES[_place(url_path)]
    with st.container(key="menu", horizontal=True, gap="small"):
        for section in SECTIONS:
            # The page is in the key, so that a menu is shut again on the page that it led to.
            with st.popover(
                f"**{section}**" if section == here.section else section,
                type="tertiary",
                key=f"menu {section} {url_path}",
            ):
                for page in PAGES:
                    if page.section == section:
                        st.page_link(ROOT / page.file, label=page.menu)
        present.start()
        share()


def _place(url_path: str) -> int:
    return next(i for i, page in enumerate(PAGES) if page.url_path == url_path)


def _onward(url_path: str) -> None:
    place = _place(url_path)
    with st.container(key="onward", horizontal=True, horizontal_alignment="distribute"):
        for step, key, label in ((-1, "page-before", "← {}"), (1, "page-after", "Next: {} →")):
            if 0 <= place + step < len(PAGES):
                page = PAGES[place + step]
                with st.container(key=key, width="content"):
                    st.page_link(ROOT / page.file, label=label.format(page.menu))
