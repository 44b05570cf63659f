"""What a link leaves out of a page, and what slides fold away."""

import pytest

from sdpa.ui.frame import PAGES
from sdpa.ui.present import PARTS
from tests.test_pages import HOSTILE, assert_shows, figures, open_page

LESSONS = [page.file for page in PAGES if page.section in ("Lesson", "Deeper")]
EVERY_PAGE = pytest.mark.parametrize("file", LESSONS)


def parts_of(app):
    """Which parts a page has; of two the style says whether they are seen."""
    labels = [button.label for button in app.button]
    styles = "".join(element.proto.body for element in app.get("html"))
    return {
        "prediction": "See" in labels,
        "presets": any(button.key.startswith("preset ") for button in app.button),
        "formula": any("displaystyle" in text.value for text in app.markdown),
        "prose": bool(app.expander) and any("Sources" in text.value for text in app.markdown),
        "controls": "st-key-controls-'] { display: none" not in styles,
        "caption": "figcaption { clip-path" not in styles,
        "tools": ".live-figure .tools { display: none; }</style>" not in styles,
    }


@pytest.mark.parametrize("part", PARTS)
def test_a_link_leaves_out_the_part_that_it_names_and_no_other(part):
    whole = dict.fromkeys(PARTS, True)
    assert parts_of(open_page("pages/temperature.py", hide=part)) == {**whole, part: False}


@EVERY_PAGE
def test_a_page_without_all_parts_keeps_its_figures(file):
    app, whole = open_page(file, hide=",".join(PARTS)), open_page(file)
    assert not app.exception
    assert parts_of(app) == dict.fromkeys(PARTS, False)
    assert parts_of(whole) == dict.fromkeys(PARTS, True) | {"formula": parts_of(whole)["formula"]}
    assert figures(app) == figures(whole)


def test_several_parts_in_any_spelling_and_unknown_ones_beside_them():
    app = open_page("pages/temperature.py", hide=" Formula,PROSE,,nothing,formula", temperature="4")
    assert_shows(app, "pages/temperature.py", temperature=4.0)
    left = {part for part, there in parts_of(app).items() if not there}
    assert left == {"formula", "prose"}


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:20])
def test_a_hostile_value_leaves_nothing_out_and_shows_no_slides(text):
    app = open_page("pages/temperature.py", hide=text, present=text)
    assert not app.exception
    assert parts_of(app) == dict.fromkeys(PARTS, True)
    assert "Leave" not in [button.label for button in app.button]


@EVERY_PAGE
def test_slides_fold_prose_and_formula_away_and_keep_the_figures(file):
    app = open_page(file, present="true")
    parts = parts_of(app)
    assert not parts["prose"]
    assert not parts["formula"]
    assert figures(app) == figures(open_page(file))
    assert len(app.title) == 1


def test_what_a_link_hides_is_hidden_on_slides_too():
    app = open_page("pages/temperature.py", present="true", hide="prediction")
    assert not parts_of(app)["prediction"]


def test_a_reveal_on_a_slide_goes_to_the_state_in_question_without_a_guess():
    app = open_page("pages/temperature.py", present="true")
    next(button for button in app.button if button.label == "See").click().run()
    assert_shows(app, "pages/temperature.py", temperature=8.0, scores="20, 10, 0")
    assert not any("You said" in text.value for text in app.markdown)


def test_slides_begin_and_end_at_a_button():
    app = open_page("pages/temperature.py")
    next(button for button in app.button if button.label == "Present").click().run()
    assert app.session_state["present"] is True
    next(button for button in app.button if button.label == "Leave").click().run()
    assert app.session_state["present"] is False
    assert parts_of(app) == dict.fromkeys(PARTS, True)
