"""The lecture's page, step by step, through the entry point."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest

from sdpa.export.lecture import LAST, MINUTES, STEPS, span
from sdpa.ui.frame import PAGES
from sdpa.views import VIEWS
from tests.test_pages import HOSTILE, figures, open_page

PAGE = "pages/lecture.py"
PLACES = range(1, LAST)


def said(app):
    return "\n".join(text.value for text in app.markdown)


def heading(app):
    return app.header[0].value


@pytest.mark.parametrize("place", PLACES)
def test_a_step_has_its_figure_its_words_and_its_minutes(place):
    step, app = STEPS[place - 1], open_page(PAGE, part=str(place))
    assert not app.exception
    assert heading(app) == f"{place}. {step.title}"
    ((name, (_, caption)),) = figures(app).items()
    assert (name, caption) == (step.view, step.drawn().caption)
    for text in (step.claim, step.ask, *step.say, step.answer(step.drawn()), span(place)):
        assert text in said(app)


@pytest.mark.parametrize("place", PLACES)
def test_a_step_s_links_lead_to_the_lesson_in_the_states_that_they_name(place):
    step, app = STEPS[place - 1], open_page(PAGE, part=str(place))
    pages = {page.url_path: page.file for page in PAGES}
    states = {"this state": step.state, **step.presets}
    links = dict(re.findall(r"\[([^]]+)\]\(([^)]+)\)", said(app)))
    for label, state in states.items():
        there = urlsplit(links[label])
        assert there.path == f"./{step.page}"
        lesson = open_page(pages[step.page], **dict(parse_qsl(there.query)))
        assert figures(lesson)[step.view][1] == step.drawn(state).caption


def test_minutes_add_up_to_the_lecture_s():
    assert span(1).startswith("0–")
    assert span(LAST) == f"47–{MINUTES} min"
    ends = [span(place).removesuffix(" min").split("–") for place in range(1, LAST + 1)]
    assert [end for _, end in ends[:-1]] == [begin for begin, _ in ends[1:]]


def test_next_and_previous_set_each_step_s_own_state_and_stop_at_the_ends():
    app = open_page(PAGE)
    assert app.button(key="step before").disabled
    for step in STEPS:
        assert figures(app)[step.view][1] == step.drawn().caption
        app.button(key="step after").click().run()
        assert not app.exception
    assert heading(app) == f"{LAST}. Check"
    assert app.button(key="step after").disabled
    app.button(key="step before").click().run()
    assert heading(app) == f"{LAST - 1}. {STEPS[-1].title}"


def test_a_slider_moves_the_step_s_figure_and_coming_back_finds_the_step_s_own_state():
    app = open_page(PAGE, part="6")
    chain = VIEWS["chain.chain"]
    assert figures(app)["chain.chain"][1] == chain(d_k=256).caption
    app.select_slider(key="d_k").set_value(4).run()
    assert figures(app)["chain.chain"][1] == chain(d_k=4).caption
    app.button(key="step after").click().run()
    app.button(key="step before").click().run()
    assert figures(app)["chain.chain"][1] == chain(d_k=256).caption


def test_a_shared_state_of_a_step_goes_before_the_step_s_own():
    app = open_page(PAGE, part="6", d_k="1024")
    assert figures(app)["chain.chain"][1] == VIEWS["chain.chain"](d_k=1024).caption


@pytest.mark.parametrize("text", [*HOSTILE, "0", "11", "-1"], ids=lambda text: ascii(text)[:9])
def test_a_hostile_step_is_the_first(text):
    app = open_page(PAGE, part=text)
    assert not app.exception
    assert heading(app) == f"1. {STEPS[0].title}"
    assert figures(app)[STEPS[0].view][1] == STEPS[0].drawn().caption


def test_slides_show_the_question_and_keep_the_notes_back():
    step, app = STEPS[1], open_page(PAGE, part="2", present="true")
    assert not app.exception
    assert heading(app) == f"2. {step.title}"
    assert step.ask in said(app)
    assert not any(text in said(app) for text in step.say)
