"""Slides: what they show, and the keys that turn them."""

from urllib.parse import urlsplit

import pytest

from sdpa.views import VIEWS

CHAIN, ROWS = VIEWS["chain.chain"], VIEWS["gradients.rows"]
HALL = {"width": 1920, "height": 1080}


@pytest.fixture(scope="module")
def once(seat):
    with seat(viewport=HALL) as reader:
        yield reader


@pytest.fixture
def slides(once):
    """Home as slides on the screen of a lecture hall."""
    once.page.bring_to_front()
    once.page.set_viewport_size(HALL)
    yield once.open(present="true")
    once.assert_quiet()


def path(reader):
    return urlsplit(reader.url).path.strip("/")


def box(locator):
    found = locator.bounding_box()
    return found["x"], found["y"], found["x"] + found["width"], found["y"] + found["height"]


def test_a_slide_fills_the_screen_with_heading_controls_figure_and_caption(slides):
    page = slides.page
    figure = page.locator(".live-figure").first
    for width, height in ((1920, 1080), (1280, 720), (800, 600)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(400)
        assert slides.width_overrun() == {}
        for part in (page.locator("h1"), slides.slider("d_k"), figure.locator("figcaption")):
            left, top, right, bottom = box(part)
            assert left >= 0, (width, part)
            assert top >= 0, (width, part)
            assert right <= width, (width, part)
            assert bottom <= height, (width, part)
        left, top, right, bottom = box(figure.locator(".main-svg").first)
        assert right - left >= 0.7 * width
        assert bottom - top >= 0.5 * height
    assert page.get_by_test_id("stHeader").is_hidden()
    assert page.locator(".st-key-menu").count() == 0
    assert page.locator(".live-figure .tools").first.is_hidden()
    assert page.locator("[class*='st-key-presets-']").first.is_hidden()


def test_texts_are_18_px_or_more_at_1080p_and_lines_thicker(slides):
    sizes = slides.page.evaluate(
        """() => {
          const seen = (e) => e.getClientRects().length && e.textContent.trim() &&
            getComputedStyle(e).visibility !== 'hidden'
          const found = {}
          const texts = document.querySelectorAll(
            'h1, figcaption, label p, .stSlider [data-testid*="Value"], .st-key-prediction p,'
            + ' .st-key-slides button, .live-figure .main-svg text')
          for (const e of texts) {
            if (!seen(e)) continue
            const plot = e.closest('.plot')
            const scale = plot ? plot.getBoundingClientRect().width / plot.offsetWidth : 1
            const small = e.querySelector('tspan') ? '' : e.textContent.slice(0, 30)
            found[small || e.textContent.slice(0, 30)] =
              parseFloat(getComputedStyle(e).fontSize) * scale
          }
          return found
        }"""
    )
    assert len(sizes) > 20
    assert {text: size for text, size in sizes.items() if size < 18} == {}
    scale = slides.page.evaluate(
        """() => {
          const plot = document.querySelector('.plot')
          return plot.getBoundingClientRect().width / plot.offsetWidth
        }"""
    )
    assert scale > 1.5


def test_a_slider_is_dragged_on_a_slide_and_a_bar_is_hovered_where_it_is_seen(slides):
    last = len(CHAIN.swept["d_k"].values) - 1
    slides.grab("d_k")
    slides.drag_to("d_k", last, last)
    slides.shows(CHAIN(d_k=1024).caption)
    with slides.answer():
        slides.page.mouse.up()
    assert slides.query == {"present": "true", "d_k": "1024"}
    bar = slides.page.locator(".live-figure .bars .point path").first
    left, top, right, bottom = box(bar)
    slides.page.mouse.move((left + right) / 2, (top + bottom) / 2)
    told = slides.page.locator(".live-figure .hoverlayer .hovertext").first
    told.wait_for()
    assert "not divided" in told.text_content()
    hovered = box(told)
    assert abs(hovered[1] - top) < 120
    slides.page.keyboard.press("PageDown")  # the slider that was dragged keeps no keys
    slides.until(lambda: path(slides) == "dot-product")


def test_keys_turn_slides_and_pages_and_back(slides):
    page, press = slides.page, slides.page.keyboard.press
    with slides.answer():
        press("PageDown")  # home has one figure
    assert path(slides) == "dot-product"
    press("PageDown")
    heading = page.get_by_role("heading", name="In a head").first
    slides.until(lambda: 0 <= heading.bounding_box()["y"] < 120)
    assert path(slides) == "dot-product"
    with slides.answer():
        press("PageDown")
    assert path(slides) == "variance"
    slides.until(lambda: page.locator("h1").bounding_box()["y"] < 120)
    with slides.answer():
        press("p")
    assert path(slides) == "dot-product"
    with slides.answer():
        press("PageUp")
    assert path(slides) == ""
    press("PageUp")  # there is none before
    assert slides.query == {"present": "true"}


def test_keys_choose_presets_reveal_play_and_leave(slides):
    page, press = slides.page, slides.page.keyboard.press
    for key, width in (("ArrowDown", 4), ("ArrowDown", 64), ("ArrowDown", 256), ("ArrowUp", 64)):
        press(key)
        slides.shows(CHAIN(d_k=width).caption)
    press("r")
    slides.shows(CHAIN(d_k=256).caption)
    slides.until(lambda: slides.query == {"present": "true", "d_k": "256"})
    play = page.locator(".live-figure .play").first
    press("k")
    slides.until(lambda: play.text_content() == "Stop")
    press("k")
    slides.until(lambda: play.text_content() == "Play")
    press("?")
    keys = page.get_by_role("dialog", name="Keys")
    assert "next slide" in keys.text_content()
    press("PageDown")  # is the dialog's
    press("Escape")
    keys.wait_for(state="hidden")
    assert (path(slides), slides.query["present"]) == ("", "true")
    with slides.answer():
        press("Escape")
    assert slides.query == {"d_k": "256"}
    assert page.locator(".st-key-menu").is_visible()
    assert page.get_by_test_id("stHeader").is_visible()
    slides.until(lambda: slides.plot_widths()[0] > 760)
    press("n")  # no key of the page's
    page.wait_for_timeout(200)
    assert path(slides) == ""
    with slides.answer():
        page.get_by_role("button", name="Present").click()
    assert slides.query == {"d_k": "256", "present": "true"}


def test_questions_are_slides_too(slides):
    page = slides.page
    page.goto(f"{slides.address}/check?present=true")
    page.get_by_role("heading", name="Question 1 of").wait_for()
    page.locator("button.keys-of-slides").wait_for()
    page.keyboard.press("PageDown")
    page.get_by_role("heading", name="Question 2 of").wait_for()
    page.keyboard.press("PageUp")
    page.get_by_role("heading", name="Question 1 of").wait_for()
    assert slides.query == {"present": "true"}


def test_what_a_link_hides_stays_hidden_from_page_to_page(once):
    once.open("gradients", hide="prediction,caption,tools,nothing")
    page = once.page
    caption = page.locator(".live-figure figcaption").first
    assert caption.bounding_box()["height"] <= 1
    assert caption.text_content() == VIEWS["gradients.gap"]().caption  # for who can't see it
    assert page.locator(".live-figure .tools").first.is_hidden()
    assert once.prediction.count() == 0
    with once.answer():
        page.locator(".st-key-page-after a").click()
    assert path(once) == "overflow"
    assert once.prediction.count() == 0
    assert page.locator(".live-figure .tools").first.is_hidden()
    assert once.query == {"hide": "prediction,caption,tools,nothing"}
