"""A lesson's page: heading and claim, controls beside the figure, prediction, presets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from sdpa.parameters import Parameter, Value
from sdpa.ui.controls import control, set_state
from sdpa.ui.frame import ensure_frame
from sdpa.ui.live_figure import show
from sdpa.ui.present import presenting, shows
from sdpa.views.view import View
from sdpa.views.words import number, plain


@dataclass(frozen=True)
class Lesson:
    """A page that has begun."""

    url_path: str
    parameters: tuple[Parameter, ...]

    def bench(self, name: str, *parameters: Parameter) -> Bench:
        """Lay out one figure with the controls that move it; a page has one or more."""
        with st.container(key=f"bench-{name}"):
            places = [
                st.container(key=f"{place}-{name}") for place in ("controls", "figure", "aside")
            ]
        with places[0]:
            values = [control(parameter) for parameter in parameters]
        state = {row.key: value for row, value in zip(parameters, values, strict=True)}
        return Bench(self, name, parameters, state, *places)

    def reset_button(self) -> None:
        """Offer the way back to the page as it was at first."""
        pressed = st.button(
            "Reset",
            type="tertiary",
            key=f"reset {self.url_path}",
            on_click=self._reset,
            help="Put every control of this page back and forget the prediction.",
        )
        if pressed:
            st.rerun()  # the other parts of the page too

    def _reset(self) -> None:
        set_state({parameter.key: parameter.default for parameter in self.parameters})
        st.session_state[self._seen] = False

    @property
    def _seen(self) -> str:
        return f"prediction seen on {self.url_path}"

    def predict(
        self,
        question: str,
        guesses: Sequence[float],
        *,
        at: Mapping[str, Value],
        answer: Callable[[], float],
        text: Callable[[float], str] = plain,
        answer_text: Callable[[float], str] = number,
    ) -> float | None:
        """Ask for a prediction; once committed, go to the state in question and give the guess.

        Parameters
        ----------
        question : str
            What to predict, in Markdown.
        guesses : sequence of float
            What can be said.
        at : dict
            The state that the question is about.
        answer : callable
            Computes the answer; called only after the reader has committed.
        text, answer_text : callable
            Write a guess and the answer.
        """
        if not shows("prediction"):
            return None
        with st.container(border=not presenting(), key="prediction"):
            st.markdown(f"**Predict.** {question}")
            if presenting():  # the room guesses; who speaks reveals
                st.button("See", key=f"see {self.url_path}", on_click=set_state, args=(at,))
                return None
            guess = st.select_slider(
                "Your prediction",
                guesses,
                value=guesses[len(guesses) // 2],
                format_func=text,
                key=f"prediction on {self.url_path}",
            )
            st.button("See", key=f"see {self.url_path}", on_click=self._see, args=(at,))
            if not st.session_state.get(self._seen):
                return None
            st.markdown(f"You said **{text(guess)}**. It is **{answer_text(answer())}**.")
        return guess

    def _see(self, at: Mapping[str, Value]) -> None:
        set_state(at)
        st.session_state[self._seen] = True


@dataclass(frozen=True)
class Bench:
    """One figure beside what moves it; on a phone controls, figure, aside in reading order."""

    lesson: Lesson
    name: str
    parameters: tuple[Parameter, ...]
    state: Mapping[str, Value]
    controls: Any
    figure: Any
    aside: Any

    def show(self, view: View) -> None:
        """Draw a view beside the controls, and under both what explains it."""
        with self.figure:
            show(view)
        explain(view)

    def presets(self, presets: Mapping[str, Mapping[str, Value]], *, reset: bool = False) -> None:
        """Offer named states of this figure; each sets its controls, and so the link, anew.

        They are buttons: a link to the page that is open already would leave the address as it
        was and skip values that are defaults.
        """
        if not shows("presets"):
            return
        with st.container(key=f"presets-{self.name}", horizontal=True, vertical_alignment="center"):
            st.markdown("Try", width="content")
            for label, state in presets.items():
                whole = {row.key: row.default for row in self.parameters} | dict(state)
                st.button(
                    label, key=f"preset {self.name} {label}", on_click=set_state, args=(whole,)
                )
            if reset:
                self.lesson.reset_button()


def part(draw: Callable[[], None]) -> Callable[[], None]:
    """Draw a part of the page, and only this part again when a control in it moves.

    A release then costs the server what has changed, not the whole page with its menu. So
    what one control moves belongs into one part.
    """
    fragment = st.fragment(draw)
    fragment()
    return fragment


def begin(url_path: str, title: str, claim: str, parameters: Sequence[Parameter]) -> Lesson:
    """Begin a lesson's page; the first call of each."""
    ensure_frame()
    st.title(title, anchor=False)
    if shows("prose"):
        st.markdown(claim)
    return Lesson(url_path, tuple(parameters))


def explain(view: View) -> None:
    """Set the formula with its current numbers, and what to see in this state."""
    if view.formula and shows("formula"):
        # Inline and not display: a phone then breaks the line, where st.latex would scroll.
        parts = (part.strip() for part in view.formula.split(r"\qquad"))
        formula = " &emsp;&emsp; ".join(rf"$\displaystyle {part}$" for part in parts)
        st.markdown(formula, text_alignment="center")
    if view.notice and shows("prose"):
        st.markdown(view.notice)


def remark(text: str) -> None:
    """Say something between figures."""
    if shows("prose"):
        st.markdown(text)


def limits(text: str) -> None:
    """Say where the simple story stops being true."""
    if shows("prose"):
        with st.expander("Where the simple story stops being true"):
            st.markdown(text)


def sources(text: str) -> None:
    """Name the sources."""
    if shows("prose"):
        st.markdown(f":small[Sources: {text}]")
