import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from sdpa import parameters
from sdpa.ui.frame import PAGES
from sdpa.views import VIEWS

ROOT = Path(__file__).parents[1]
ROWS = {row.key: row for row in vars(parameters).values() if isinstance(row, parameters.Parameter)}
LESSONS = [page for page in PAGES if page.section != "Class"]  # the rest has tests of its own
EVERY_PAGE = pytest.mark.parametrize(
    "file", [page.file for page in LESSONS], ids=[page.url_path or "home" for page in LESSONS]
)
TYPED = ("Temperature", "By hand")  # pages whose every figure is of typed scores
HOSTILE = [
    "",
    "abc",
    "nan",
    "1e999",
    "64.0",
    "६४",
    "<script>alert(1)</script>",
    "\0",
    "9" * 5000,
    "1, " * 5000,
]


def open_page(file, **query):
    """Run a page as its link opens it, through the frame."""
    app = AppTest.from_file(ROOT / "app.py", default_timeout=30).switch_page(file)
    for key, value in query.items():
        app.query_params[key] = value
    return app.run()


def figures(app):
    """What is sent of each figure: by the view's name its state and caption."""
    sent = {}
    for element in app.get("bidi_component"):
        _, is_figure, name = element.proto.id.rpartition("figure ")
        if not is_figure:
            continue
        message = json.loads(element.proto.bytes)
        sent[name] = (message["state"], message["view"]["caption"])
    return sent


def assert_shows(app, file, **state):
    """Assert that every figure of a page is drawn in this state, defaults beside it."""
    assert not app.exception
    drawn = figures(app)
    here = Path(file).stem.replace("-", "_")
    assert {name.partition(".")[0] for name in drawn} == {"chain" if here == "home" else here}
    for name, (_, caption) in drawn.items():
        keys = [row.key for row in VIEWS[name].parameters]
        assert caption == VIEWS[name](**{k: v for k, v in state.items() if k in keys}).caption


def assert_framed(app, file):
    """Assert that the links which the frame adds lead to the pages before and after."""
    place = [page.file for page in PAGES].index(file)
    around = [page.url_path for page in PAGES[max(0, place - 1) : place + 2]]
    around.remove(PAGES[place].url_path)
    assert [link.proto.page for link in app.get("page_link")][-len(around) :] == around


def link_of(app):
    """The state of a page's controls as its link has it."""
    return {key: ROWS[key].text(app.session_state[key]) for key in ROWS if key in app.session_state}


def presets(app):
    return [button for button in app.button if button.key.startswith("preset ")]


@EVERY_PAGE
def test_a_page_runs_in_the_frame_with_its_default_figures(file):
    app = open_page(file)
    assert_shows(app, file)
    assert len(app.title) == 1
    assert_framed(app, file)


@EVERY_PAGE
def test_every_preset_runs_and_its_link_opens_the_same_figures(file):
    app = open_page(file)
    first, seen = figures(app), []
    assert len(presets(app)) >= 4
    for place in range(len(presets(app))):
        presets(app)[place].click().run()
        assert not app.exception
        assert not app.warning
        assert_framed(app, file)  # in every run, not in the first alone
        seen.append(figures(app))
        assert figures(open_page(file, **link_of(app))) == seen[-1]
    assert any(drawn != first for drawn in seen)


@EVERY_PAGE
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:20])
def test_a_hostile_link_falls_back_to_the_defaults(file, text):
    assert_falls_back(file, dict.fromkeys(ROWS, text))


@EVERY_PAGE
def test_a_name_that_is_repeated_or_unknown_in_a_link_falls_back_to_the_defaults(file):
    pair = {key: [row.text(row.default)] * 2 for key, row in ROWS.items()}
    app = open_page(file, nothing="1", **pair)
    assert not app.exception
    assert figures(app)


@settings(max_examples=25, deadline=None)
@given(
    file=st.sampled_from([page.file for page in LESSONS]),
    query=st.dictionaries(
        st.sampled_from(list(ROWS)), st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
    ),
)
@example("pages/temperature.py", {"scores": "1 2 3", "temperature": "16"})
def test_any_text_in_a_link_is_taken_as_its_value_or_falls_back(file, query):
    assert_falls_back(file, query)


def assert_falls_back(file, query):
    state = {}
    for key, text in query.items():
        row = ROWS[key]
        state[key] = row.initial
        if row.kind == "scores":
            with suppress(ValueError):
                state[key] = row.parse(text)
        elif text in map(row.text, row.values):
            state[key] = row.parse(text)
    assert_shows(open_page(file, **query), file, **state)


@pytest.mark.parametrize("file", [page.file for page in PAGES if page.menu in TYPED])
def test_bad_scores_are_named_and_the_figure_keeps_the_last_good_ones(file):
    app = open_page(file)
    app.text_input(key="scores").set_value("5, 4.5, 1").run()
    good = figures(app)
    assert_shows(app, file, scores="5, 4.5, 1")
    assert not app.warning
    for bad, got in (("5, cat", "'cat'"), ("", "none"), ("5, inf", "'inf'"), ("1,5", "'1,5'")):
        app.text_input(key="scores").set_value(bad).run()
        assert not app.exception
        (warning,) = app.warning
        assert "Scores" in warning.value
        assert got in warning.value
        assert "5, 4.5, 1" in warning.value
        assert figures(app) == good
    app.text_input(key="scores").set_value("2, 1").run()
    assert not app.warning
    assert_shows(app, file, scores="2, 1")


def test_scores_that_were_bad_from_the_link_on_leave_the_default_until_good_ones_come():
    app = open_page("pages/temperature.py", scores="8; x")
    assert len(app.warning) == 1
    assert_shows(app, "pages/temperature.py")
    app.text_input(key="scores").set_value("3; 2").run()
    assert_shows(app, "pages/temperature.py", scores="3; 2")
