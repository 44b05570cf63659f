from contextlib import suppress
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from sdpa.ui.frame import PAGES
from sdpa.ui.quiz import parse_number
from sdpa.views.questions import QUESTIONS, Choice
from tests.test_pages import figures

ROOT = Path(__file__).parents[1]
CHECK = "pages/check.py"
PLACES = {question.name: place for place, question in enumerate(QUESTIONS)}
CHOICE = next(question for question in QUESTIONS if isinstance(question.reply, Choice))
NUMBER = next(question for question in QUESTIONS if not isinstance(question.reply, Choice))
PERCENT = next(row for row in QUESTIONS if getattr(row.reply, "unit", "") == "%")


def open_check(**query):
    app = AppTest.from_file(ROOT / "app.py", default_timeout=30).switch_page(CHECK)
    for key, value in query.items():
        app.query_params[key] = value
    return app.run()


def press(app, label):
    (button,) = [button for button in app.button if button.label == label]
    return button.click().run()


def go(app, question):
    app = app.selectbox(key="quiz jump").set_value(PLACES[question.name]).run()
    assert app.header[0].value == f"Question {PLACES[question.name] + 1} of {len(QUESTIONS)}"
    return app


def widget(app, question):
    kind = app.radio if isinstance(question.reply, Choice) else app.text_input
    return kind(key=f"reply {question.name}")


def answer(app, question, reply):
    widget(app, question).set_value(reply)
    return press(app, "Check answer")


def right(question):
    return question.answer if isinstance(question.reply, Choice) else f"{question.target:.10g}"


def wrong(question):
    if not isinstance(question.reply, Choice):
        return "99999"
    return next(option for option in question.reply.options if option != question.answer)


def captions(app):
    return [caption for _, caption in figures(app).values()]


def link_to_lesson(app, question):
    (link,) = [row.proto for row in app.get("page_link") if row.proto.label.startswith("See it")]
    assert link.page == question.lesson
    return link


def test_it_begins_with_the_first_question_and_no_evidence():
    app = open_check()
    assert not app.exception
    assert app.title[0].value == "Check yourself"
    assert app.header[0].value == f"Question 1 of {len(QUESTIONS)}"
    assert captions(app) == []
    assert not app.success
    assert not app.warning


def test_the_frame_leads_on_from_the_page_before():
    app = open_check()
    place = [page.url_path for page in PAGES].index("check")
    around = [PAGES[place - 1].url_path, PAGES[place + 1].url_path]
    assert [link.proto.page for link in app.get("page_link")][-2:] == around


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_each_answer_says_in_words_whether_it_is_right_and_shows_its_evidence(question):
    app = go(open_check(), question)
    answer(app, question, wrong(question))
    assert not app.exception
    assert app.warning[0].value.startswith("**Not right.**")
    assert question.answer in app.warning[0].value
    assert not app.success
    assert question.explanation in [text.value for text in app.markdown]
    assert captions(app) == [question.evidence.caption]
    link_to_lesson(app, question)
    answer(app, question, right(question))  # again
    assert not app.exception
    assert app.success[0].value.startswith("**Right.**")
    assert not app.warning
    assert captions(app) == [question.evidence.caption]


def test_the_link_to_the_lesson_carries_the_state():
    app = answer(go(open_check(), NUMBER), NUMBER, right(NUMBER))
    link = link_to_lesson(app, NUMBER)
    for key, text in NUMBER.link.items():
        assert f"{key}={text}" in str(link)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("1,5", "decimal point"),
        ("1,024", "decimal point"),
        ("", "Type a number"),
        ("abc", "'abc'"),
        ("nan", "'nan'"),
        ("inf", "'inf'"),
        ("1e999", "'1e999'"),
        ("६४", "'६४'"),
        ("1_0", "'1_0'"),
        ("9" * 5000, "…"),
        ("16 apples", "16 apples"),
    ],
    ids=lambda text: ascii(text)[:12],
)
def test_what_is_no_number_is_named_and_does_not_count(bad, said):
    app = answer(go(open_check(), NUMBER), NUMBER, bad)
    assert not app.exception
    (warning,) = app.warning
    assert said in warning.value
    assert len(warning.value) < 120
    assert captions(app) == []
    answer(app, NUMBER, right(NUMBER))
    assert app.success
    assert not app.warning
    assert app.session_state["quiz"].first.keys() == {NUMBER.name}


def test_no_choice_is_asked_for_and_does_not_count():
    app = press(go(open_check(), CHOICE), "Check answer")
    assert [warning.value for warning in app.warning] == ["Choose an answer first."]
    press(app, "Next")
    assert not app.warning
    assert app.session_state["quiz"].first == {}


def test_a_percentage_may_have_its_sign():
    app = answer(go(open_check(), PERCENT), PERCENT, f"{PERCENT.target:g} %")
    assert app.success


def test_numbers_are_read_as_people_write_them():
    assert [parse_number(text) for text in (" 16 ", "+.5", "5.", "1e3", "−2")] == [
        16, 0.5, 5, 1000, -2,
    ]  # fmt: skip
    with pytest.raises(ValueError, match="one number"):
        parse_number("19 %")


def test_next_and_previous_go_from_question_to_question_and_to_the_score():
    app = open_check()
    assert next(button for button in app.button if button.label == "Previous").disabled
    press(app, "Next")
    assert app.header[0].value.startswith("Question 2 of")
    press(app, "Previous")
    assert app.header[0].value.startswith("Question 1 of")
    go(app, QUESTIONS[-1])
    press(app, "See your score")
    assert app.header[0].value == "Your score"
    press(app, "Back to the questions")
    assert app.header[0].value == f"Question {len(QUESTIONS)} of {len(QUESTIONS)}"


def test_the_score_counts_first_answers_and_leads_back_to_what_was_missed():
    app = open_check()
    missed = (QUESTIONS[1], QUESTIONS[2])
    for question in QUESTIONS:
        answer(app, question, (wrong if question in missed else right)(question))
        if question is QUESTIONS[1]:
            answer(app, question, right(question))  # too late for the score
        press(app, "Next" if question is not QUESTIONS[-1] else "See your score")
    total = len(QUESTIONS)
    assert any(text.value.startswith(f"**{total - 2} of {total}** right") for text in app.markdown)
    assert [text.value for text in app.subheader] == ["Missed"]
    back = [button for button in app.button if button.key and button.key.startswith("to ")]
    assert [button.key for button in back] == [f"to {question.name}" for question in missed]
    links = [row.proto for row in app.get("page_link") if row.proto.label.startswith("See it")]
    assert [link.page for link in links] == [question.lesson for question in missed]
    back[0].click().run()
    assert app.header[0].value.startswith("Question 2 of")
    assert "missed" in app.selectbox(key="quiz jump").options[1]
    assert "right" in app.selectbox(key="quiz jump").options[0]


def test_a_full_score_misses_nothing():
    app = open_check()
    for question in QUESTIONS:
        answer(go(app, question), question, right(question))
    press(app, "See your score")
    assert not app.subheader
    assert "Nothing missed." in [text.value for text in app.markdown]


def test_the_score_names_what_is_still_open_without_giving_it_away():
    app = open_check()
    app.selectbox(key="quiz jump").set_value(len(QUESTIONS)).run()
    assert [text.value for text in app.subheader] == ["Not answered yet"]
    assert not [row for row in app.get("page_link") if row.proto.label.startswith("See it")]


def test_start_again_forgets_every_answer():
    app = open_check()
    for question in (NUMBER, CHOICE):
        answer(go(app, question), question, wrong(question))
    app.selectbox(key="quiz jump").set_value(len(QUESTIONS)).run()
    press(app, "Start again")
    assert app.header[0].value.startswith("Question 1 of")
    for question in (NUMBER, CHOICE):
        go(app, question)
        assert widget(app, question).value in (None, "")
        assert not app.warning
        assert captions(app) == []


def test_answers_and_place_are_kept_when_a_reader_leaves_the_page_and_returns():
    app = open_check()
    answer(go(app, NUMBER), NUMBER, "7")
    answer(go(app, CHOICE), CHOICE, right(CHOICE))
    app.switch_page("pages/temperature.py").run()
    assert app.title[0].value != "Check yourself"
    app.switch_page(CHECK).run()
    assert not app.exception
    assert app.header[0].value == f"Question {PLACES[CHOICE.name] + 1} of {len(QUESTIONS)}"
    assert widget(app, CHOICE).value == right(CHOICE)
    assert app.success
    go(app, NUMBER)
    assert widget(app, NUMBER).value == "7"
    assert "You said 7." in app.warning[0].value


def test_two_readers_do_not_share_answers():
    one, other = open_check(), open_check()
    answer(one, QUESTIONS[0], wrong(QUESTIONS[0]))
    assert other.run().session_state["quiz"].first == {}


@pytest.mark.parametrize("text", ["", "abc", "99", "-1", "<script>alert(1)</script>", "9" * 5000])
def test_a_hostile_link_opens_the_first_question(text):
    app = open_check(question=text, d_k=text, quiz=text)
    assert not app.exception
    assert app.header[0].value.startswith("Question 1 of")


def test_the_evidence_is_left_out_of_the_address():
    app = answer(open_check(), QUESTIONS[0], wrong(QUESTIONS[0]))
    with suppress(KeyError):
        assert app.query_params == {}
