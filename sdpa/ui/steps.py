"""A page that goes step by step: each step sets the controls, which are then the reader's."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from sdpa.parameters import Parameter, Value
from sdpa.ui.controls import set_state


def settle(row: Parameter, place: int, state: Mapping[str, Value]) -> None:
    """Put controls into the state of a step that has just been turned to.

    Called before they are drawn. On the first run what the link says goes first: it may be
    that of a state that somebody has shared.
    """
    settled = f"{row.key} is settled"
    if st.session_state.get(settled) == place:
        return
    said = st.query_params if settled not in st.session_state else {}
    set_state({key: value for key, value in state.items() if key not in said})
    st.session_state[settled] = place


def moves(row: Parameter, place: int) -> None:
    """Offer the step before and the next."""
    with st.container(horizontal=True):
        for way, label, to in (("before", "Previous", place - 1), ("after", "Next", place + 1)):
            st.button(
                label,
                key=f"step {way}",
                on_click=set_state,
                args=({row.key: to},),
                disabled=to not in row.values,
            )
