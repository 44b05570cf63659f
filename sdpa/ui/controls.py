"""Controls from parameters; each lives in the link under its parameter's key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from sdpa.parameters import Parameter, Value


def control(parameter: Parameter) -> Value:
    """Draw one control and give its value; scores that can't be read give the last good ones."""
    if parameter.kind == "scores":
        return _typed(parameter)
    shared: dict[str, Any] = {
        "key": parameter.key,
        "format_func": parameter.text,
        "help": parameter.help or None,
        "bind": "query-params",
    }
    if parameter.kind == "slider":
        return st.select_slider(
            parameter.label, parameter.values, value=parameter.default, **shared
        )
    return st.selectbox(
        parameter.label,
        parameter.values,
        index=parameter.values.index(parameter.default),
        filter_mode=None,
        **shared,
    )


def _typed(parameter: Parameter) -> Value:
    kept = f"last good {parameter.key}"
    text = st.text_input(
        parameter.label,
        parameter.default,
        key=parameter.key,
        help=parameter.help or None,
        bind="query-params",
    )
    try:
        st.session_state[kept] = parameter.parse(text)
    except ValueError as problem:
        last = st.session_state.setdefault(kept, parameter.initial)
        st.warning(f"{problem} The figure still shows {parameter.text(last)}.")
    return st.session_state[kept]


def set_state(state: Mapping[str, Value]) -> None:
    """Move controls from a button's callback; the link follows."""
    for key, value in state.items():
        st.session_state[key] = value
