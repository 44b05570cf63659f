"""Questions one at a time: answers stay in the reader's session, and nowhere else."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import streamlit as st

from sdpa.ui.frame import PAGES, ROOT
from sdpa.ui.live_figure import show
from sdpa.views.questions import Choice, Question
from sdpa.views.words import plain

_KEPT = "quiz"  # an entry of its own: a widget's is gone once the reader leaves the page
_JUMP = "quiz jump"

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)


@dataclass
class Progress:
    """How far a reader is: the question in view, the first reply to each and the last."""

    place: int = 0
    first: dict[str, str | float] = field(default_factory=dict)
    last: dict[str, str | float] = field(default_factory=dict)
    problem: str = ""


def parse_number(text: str, unit: str = "") -> float:
    """Read the number that a reader has typed.

    Raises
    ------
    ValueError
        In one sentence: what was required and what came.

    Examples
    --------
    >>> parse_number(" 0.73 "), parse_number("−2"), parse_number("19 %", "%")
    (0.73, -2.0, 19.0)
    >>> parse_number("1,5")
    Traceback (most recent call last):
    ...
    ValueError: Write a number with a decimal point and no comma, such as 1.5, got '1,5'.
    """
    shown = text if len(text) <= 20 else text[:19] + "…"
    inner = text.strip().replace("−", "-")
    if unit:
        inner = inner.removesuffix(unit).strip()
    if not inner:
        raise ValueError("Type a number first, such as 0.5 or 12.")
    if "," in inner:
        raise ValueError(
            f"Write a number with a decimal point and no comma, such as 1.5, got {shown!r}."
        )
    if not _NUMBER.fullmatch(inner) or not math.isfinite(float(inner)):
        raise ValueError(f"Write one number, such as 0.5 or 12, got {shown!r}.")
    return float(inner)


def ask(questions: Sequence[Question]) -> None:
    """Show the question where the reader is, or the score after the last."""
    progress = _progress()
    progress.place = min(progress.place, len(questions))
    if progress.place == len(questions):
        _score(questions, progress)
    else:
        _question(questions, progress)


def _progress() -> Progress:
    kept: Progress = st.session_state.setdefault(_KEPT, Progress())
    return kept


def _question(questions: Sequence[Question], progress: Progress) -> None:
    question = questions[progress.place]
    st.header(f"Question {progress.place + 1} of {len(questions)}", anchor=False)
    left, right = st.columns([5, 6], gap="large")
    with left:
        st.markdown(question.prompt)
        with st.form(f"form {question.name}", border=False):
            _reply(question, progress)
            st.form_submit_button("Check answer", on_click=_check, args=(question,))
        if progress.problem:
            st.warning(progress.problem)
        if question.name in progress.last:
            _verdict(question, progress.last[question.name])
        _moves(questions, progress)
    with right:
        if question.name in progress.last:
            show(question.evidence)
            _lesson(question)
        else:
            st.markdown("The evidence comes here, once you have answered.")


def _reply(question: Question, progress: Progress) -> None:
    key, last = _key(question), progress.last.get(question.name)
    if key not in st.session_state and last is not None:  # back from another question or page
        st.session_state[key] = plain(last) if isinstance(last, float) else last
    if isinstance(question.reply, Choice):
        st.radio("Your answer", question.reply.options, index=None, key=key)
        return
    unit = question.reply.unit
    near = f"within {plain(question.reply.tolerance)} {unit}".rstrip()
    st.text_input(
        f"Your answer{f', in {unit}' if unit else ''} ({near} counts as right)",
        key=key,
        width=320,
        autocomplete="off",
    )


def _verdict(question: Question, reply: str | float) -> None:
    said = plain(reply) if isinstance(reply, float) else f"“{reply}”"
    if question.is_right(reply):
        by_number = not isinstance(question.reply, Choice)
        exact = f" You said {said}. It is {question.answer}." if by_number else ""
        st.success(f"**Right.**{exact}")
    else:
        st.warning(f"**Not right.** You said {said}. The answer: **{question.answer}**.")
    st.markdown(question.explanation)


def _lesson(question: Question) -> None:
    page = next(page for page in PAGES if page.url_path == question.lesson)
    st.page_link(
        ROOT / page.file,
        label=f"See it in “{page.menu}”, in this state →",
        query_params=question.link,
    )


def _moves(questions: Sequence[Question], progress: Progress) -> None:
    last = len(questions) - 1
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button(
            "Previous",
            key="step before",
            on_click=_go,
            args=(progress.place - 1,),
            disabled=progress.place == 0,
        )
        st.button(
            "Next" if progress.place < last else "See your score",
            key="step after",
            on_click=_go,
            args=(progress.place + 1,),
        )
    st.session_state[_JUMP] = progress.place
    st.selectbox(
        "Go to",
        range(len(questions) + 1),
        format_func=lambda place: _named(questions, progress, place),
        key=_JUMP,
        on_change=_jump,
        filter_mode=None,
    )


def _named(questions: Sequence[Question], progress: Progress, place: int) -> str:
    if place == len(questions):
        return "Your score"
    question = questions[place]
    if question.name not in progress.first:
        return f"{place + 1}. {question.topic}"
    right = question.is_right(progress.first[question.name])
    return f"{place + 1}. {question.topic} ({'right' if right else 'missed'})"


def _score(questions: Sequence[Question], progress: Progress) -> None:
    st.header("Your score", anchor=False)
    answered = [question for question in questions if question.name in progress.first]
    missed = [row for row in answered if not row.is_right(progress.first[row.name])]
    left = [row for row in questions if row.name not in progress.first]
    st.markdown(
        f"**{len(answered) - len(missed)} of {len(questions)}** right. "
        "The first answer to a question counts."
    )
    places = {row.name: place for place, row in enumerate(questions)}
    if missed:
        st.subheader("Missed", anchor=False)
    for row in missed:
        with st.container(horizontal=True, vertical_alignment="center"):
            _back_to(row, places[row.name])
            _lesson(row)
    if left:
        st.subheader("Not answered yet", anchor=False)
        with st.container(horizontal=True):
            for row in left:
                _back_to(row, places[row.name])
    if not missed and not left:
        st.markdown("Nothing missed.")
    with st.container(horizontal=True):
        st.button("Back to the questions", on_click=_go, args=(len(questions) - 1,))
        st.button("Start again", on_click=_start_again, args=(questions,))


def _back_to(question: Question, place: int) -> None:
    label = f"{place + 1}. {question.topic}"
    st.button(label, key=f"to {question.name}", on_click=_go, args=(place,))


def _key(question: Question) -> str:
    return f"reply {question.name}"


def _check(question: Question) -> None:
    progress, given = _progress(), st.session_state[_key(question)]
    progress.problem = ""
    if isinstance(question.reply, Choice):
        if given is None:
            progress.problem = "Choose an answer first."
            return
    else:
        try:
            given = parse_number(given, question.reply.unit)
        except ValueError as problem:
            progress.problem = str(problem)
            return
    progress.first.setdefault(question.name, given)
    progress.last[question.name] = given


def _go(place: int) -> None:
    progress = _progress()
    progress.place, progress.problem = place, ""


def _jump() -> None:
    _go(st.session_state[_JUMP])


def _start_again(questions: Sequence[Question]) -> None:
    st.session_state[_KEPT] = Progress()
    for question in questions:
        st.session_state.pop(_key(question), None)
