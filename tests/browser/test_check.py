"""The page of questions, as a reader meets it."""

import pytest
from axe_playwright_python.base import AXE_SCRIPT


@pytest.fixture
def asked(reader):
    """The first question, which asks for a number: the spread at a width of 256."""
    reader.page.goto(f"{reader.address}/check")
    reader.page.get_by_role("heading", name="Question 1 of").wait_for()
    return reader


def answer(reader, text):
    field = reader.page.get_by_role("textbox", name="Your answer")
    field.fill(text)
    field.press("Enter")


def test_a_right_number_shows_its_evidence_and_a_link_to_its_lesson(asked):
    assert asked.page.locator(".live-figure").count() == 0
    answer(asked, "16")
    asked.page.locator(".live-figure .main-svg").first.wait_for()
    assert "16" in asked.captions[0]
    link = asked.page.locator(".stMain").get_by_role("link", name="See it in").first
    assert "d_k=256" in link.get_attribute("href")
    assert asked.problems == []


def test_what_is_no_number_gets_a_sentence_and_no_answer(asked):
    answer(asked, "1,5")
    asked.page.get_by_text("point").first.wait_for()
    assert asked.page.locator(".live-figure").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_grave_fault_before_and_after_an_answer(read, theme):
    reader = read(color_scheme=theme, viewport={"width": 390, "height": 844})
    reader.page.goto(f"{reader.address}/check")
    reader.page.get_by_role("heading", name="Question 1 of").wait_for()
    reader.page.wait_for_timeout(500)
    reader.page.evaluate(AXE_SCRIPT)
    for _ in range(2):
        report = reader.page.evaluate("axe.run({resultTypes: ['violations']})")
        grave = [f for f in report["violations"] if f["impact"] in ("serious", "critical")]
        assert [(fault["id"], fault["nodes"][0]["html"][:120]) for fault in grave] == []
        answer(reader, "16")
        reader.page.locator(".live-figure .main-svg").first.wait_for()
        reader.page.wait_for_timeout(500)
