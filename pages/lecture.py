"""Fifty minutes along the chain, a step at a time."""

from functools import partial

import streamlit as st

from sdpa.export.handout import NAME, handout
from sdpa.export.lecture import CHECK_CLAIM, CHECK_PAGE, LAST, MINUTES, PART, STEPS, span
from sdpa.ui.controls import control
from sdpa.ui.frame import PAGES, ROOT
from sdpa.ui.lesson import begin, part
from sdpa.ui.present import presenting, shows
from sdpa.ui.steps import moves, settle
from sdpa.ui.takeaway import app_address, offer_figures
from sdpa.views import VIEWS
from sdpa.views.naming import query

FILES = {page.url_path: ROOT / page.file for page in PAGES}
SHOWN = 3  # controls beside the figure
lesson = begin(
    "lecture",
    "A lecture of fifty minutes",
    "What to show, say and ask, a step at a time; **Present** makes slides of them.",
    [PART],
)
with st.container(key="steps", horizontal=True, vertical_alignment="bottom"):
    place = control(PART)
    moves(PART, place)
step = STEPS[place - 1] if place < LAST else None
st.header(f"{place}. {step.title if step else 'Check'}", anchor=False)
if not presenting():
    st.markdown(f"**{span(place)} of {MINUTES}.** {step.claim if step else CHECK_CLAIM}")
if step is None:
    st.page_link(FILES[CHECK_PAGE], label="To the questions →")
else:
    rows = step.drawn().spec.parameters
    at_first = {row.key: row.default for row in rows} | dict(step.state)
    settle(PART, place, at_first)

    @part
    def the_figure() -> None:
        bench = lesson.bench("step", *rows[:SHOWN])
        view = VIEWS[step.view](**{**at_first, **bench.state})
        bench.show(view)
        with bench.aside:
            st.markdown(f"**Ask.** {step.ask}")
            with st.popover("Answer", key="answer", width="content"):
                st.markdown(step.answer(step.drawn()))
            if shows("prose"):
                st.markdown("**Say**\n" + "".join(f"\n- {text}" for text in step.say))
        if shows("presets"):
            # In a tab of their own: in this one the controls would keep the lecture's state.
            states = {"this state": view} | {
                label: step.drawn(state) for label, state in step.presets.items()
            }
            links = (f"[{name}](./{step.page}{query(there)})" for name, there in states.items())
            st.markdown(f"In the lesson: {' · '.join(links)}")


if shows("prose"):
    st.header("Take it along", anchor=False)
    st.markdown(
        "All figures of the lecture as pictures for slides, each with its data and its program."
    )
    offer_figures(
        lambda: ((f"{n:02}", step.page, step.drawn()) for n, step in enumerate(STEPS, start=1))
    )
    st.markdown(
        "The whole lecture as one file with live figures: for a class without a network, or for "
        "any web space. Printed, it is your notes, a step a page."
    )
    st.download_button(
        "Handout, HTML",
        partial(handout, app_address("lecture")),
        NAME,
        "text/html",
        on_click="ignore",
    )
