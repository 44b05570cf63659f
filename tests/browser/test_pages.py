import math
import statistics
import sys
import urllib.request
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from sdpa.parameters import MOST_SCORES, parse_scores
from sdpa.ui.frame import PAGES
from sdpa.views import VIEWS
from tests.browser.conftest import HOST, ROOT, Server

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 720}


@dataclass(frozen=True)
class Lesson:
    """A page: address, first figure, first slider, and the state its prediction is about."""

    path: str
    view: str
    key: str
    asked: dict

    def caption(self, **state):
        return VIEWS[self.view](**state).caption

    def text(self, value):
        return self.parameter.text(value)

    @property
    def parameter(self):
        return VIEWS[self.view].swept[self.key]

    @property
    def rows(self):
        return VIEWS[self.view].parameters

    @property
    def values(self):
        return self.parameter.values


EIGHT_TENS = ", ".join(["10"] * 8)
LESSONS = [
    Lesson("", "chain.chain", "d_k", {"d_k": "256"}),
    Lesson(
        "dot-product",
        "dot_product.plane",
        "angle",
        {"angle": "120", "length_q": "2", "length_k": "3"},
    ),
    Lesson("variance", "variance.histogram", "d_k", {"d_k": "1024"}),
    Lesson(
        "temperature",
        "temperature.weights",
        "temperature",
        {"temperature": "8", "scores": "20, 10, 0"},
    ),
    Lesson("gradients", "gradients.gap", "gap", {"gap": "8"}),
    Lesson("overflow", "overflow.steps", "offset", {"offset": "0", "scores": EIGHT_TENS}),
    Lesson("attention", "attention.maps", "row", {"row": "3", "d_k": "256"}),
    Lesson("worked-example", "worked_example.lines", "d_k", {"d_k": "64", "scores": "16, 8, 0"}),
    Lesson(
        "assumptions",
        "assumptions.law",
        "amount",
        {"premise": "correlation in both", "amount": "5", "d_k": "64"},
    ),
    Lesson("training", "training.loss", "d_k", {"d_k": "256"}),
    Lesson(
        "alternatives",
        "alternatives.rules",
        "d_k",
        {"rule": "softcap without √dₖ", "d_k": "256", "keys": "8"},
    ),
    Lesson("width", "width.tanh", "fan_in", {"fan_in": "256"}),
]
BY_PATH = {lesson.path: lesson for lesson in LESSONS}
HOME, TEMPERATURE = BY_PATH[""], BY_PATH["temperature"]


@pytest.fixture(scope="module", params=LESSONS, ids=lambda lesson: lesson.path or "home")
def once(request, seat):
    """Each page, opened once for all tests of every page."""
    with seat(viewport=DESK) as reader:
        reader.lesson = request.param
        yield reader.open(request.param.path)


@pytest.fixture
def opened(once):
    """Each page as it opens; reset, or opened again, where the test before left it changed."""
    once.page.bring_to_front()
    once.page.set_viewport_size(DESK)
    once.page.emulate_media(color_scheme="light")
    if once.query:
        with once.answer():
            once.reset.click()
    if once.query or once.captions[:1] != [once.lesson.caption()] or not once.quiet():
        once.open(once.lesson.path)
    once.forget()
    yield once
    once.page.mouse.up()
    once.assert_quiet()


def test_every_lesson_has_its_row_here():
    lessons = [page.url_path for page in PAGES if page.section != "Class"]  # has its own tests
    assert [lesson.path for lesson in LESSONS] == lessons


# --- a page as it opens ---


def test_a_page_opens_quietly_and_asks_no_other_host(opened):
    opened.assert_quiet()  # this far the page was only opened
    assert opened.hosts == {HOST}
    assert opened.alarms == []
    opened.shows(opened.lesson.caption())


def test_the_first_screen_holds_title_claim_slider_figure_and_caption(opened):
    page, figure = opened.page, opened.page.locator(".live-figure").first
    parts = {
        "title": page.locator("h1"),
        "claim": page.locator("h1 >> xpath=following::p").first,
        "slider": page.get_by_test_id("stSlider").first,
        "figure": figure.locator(".plot"),
        "caption": figure.locator("figcaption"),
    }
    assert parts["title"].count() == 1
    top = page.locator("header").bounding_box()
    for name, part in parts.items():
        box = part.bounding_box()
        assert box["height"] > 10, name
        assert box["y"] >= top["y"] + top["height"], name
        assert box["y"] + box["height"] <= DESK["height"], name
        assert box["x"] >= 0, name
        assert box["x"] + box["width"] <= DESK["width"], name
    assert parts["figure"].bounding_box()["width"] > DESK["width"] / 2


def test_the_data_opens_by_keyboard_as_the_table_that_python_has(opened):
    figure = opened.page.locator(".live-figure").first
    button, data = figure.get_by_role("button", name="Data"), figure.locator(".data")
    assert data.is_hidden()
    button.focus()
    opened.page.keyboard.press("Enter")
    columns = VIEWS[opened.lesson.view]().table
    assert data.locator("th").all_text_contents() == list(columns)
    assert data.locator("tbody tr").count() == len(columns)
    first = data.locator("tbody tr").first.locator("td").all_text_contents()
    for shown, value in zip(first, columns.iloc[0], strict=True):
        if isinstance(value, str):
            assert shown == value
        elif math.isfinite(value):
            assert float(shown) == pytest.approx(value, rel=1e-5)
    opened.page.keyboard.press("Enter")
    assert data.is_hidden()


def test_axe_finds_no_grave_fault_on_desk_or_phone_in_either_theme(opened):
    page, faults = opened.page, []
    page.evaluate(AXE_SCRIPT)
    of_screens = ["color-contrast", "target-size", "scrollable-region-focusable"]
    for screen, theme, rules in (
        (DESK, "light", {}),
        (PHONE, "light", {"runOnly": of_screens}),
        (DESK, "dark", {"runOnly": ["color-contrast"]}),
    ):
        page.set_viewport_size(screen)
        page.emulate_media(color_scheme=theme)
        page.wait_for_timeout(300)  # Streamlit fades its colours from theme to theme
        # Charts are hidden from who can't see them; their colours have tests of their own.
        report = page.evaluate(
            """(rules) => axe.run({ exclude: [['.plot']] },
              { resultTypes: ['violations'], ...rules })""",
            rules,
        )
        faults += [
            (screen["width"], theme, fault["id"], node["target"], node["html"][:150])
            for fault in report["violations"]
            if fault["impact"] in ("serious", "critical")
            for node in fault["nodes"]
        ]
    assert faults == []


@pytest.mark.parametrize("screen", [(390, 844), (800, 600)], ids=["phone", "small"])
def test_a_page_and_its_charts_fit_a_small_screen(opened, screen):
    width, height = screen
    opened.page.set_viewport_size({"width": width, "height": height})
    opened.page.wait_for_timeout(300)
    assert opened.width_overrun() == {}
    assert max(opened.plot_widths()) <= width
    overruns = opened.page.locator(".live-figure .main-svg:first-child").evaluate_all(
        "(plots) => plots.map((plot) => plot.clientWidth - plot.closest('.plot').clientWidth)"
    )
    assert max(overruns) <= 0


def test_panels_stand_side_by_side_on_a_desk_and_one_above_the_other_on_a_phone(opened):
    panels = [key for key in VIEWS[opened.lesson.view]().drawing.layout if key.startswith("yaxis")]
    assert opened.panels_stacked() == (len(panels) == 1)
    opened.page.set_viewport_size(PHONE)
    opened.until(opened.panels_stacked)


@pytest.mark.skipif(
    sys.platform != "linux", reason="needs Linux's clock of another process's processor time"
)
def test_a_release_costs_the_server_little_processor_time(opened):
    slider, costs = opened.slider(opened.lesson.key), []
    for step in range(8):
        before = opened.server.cpu()
        opened.press("ArrowLeft" if step % 2 else "ArrowRight", on=slider)
        costs.append(1000 * (opened.server.cpu() - before))
    # Neighbours on the processor only add to a cost, so the least ones tell the release's own.
    assert statistics.median(sorted(costs)[:5]) <= 25, costs


# --- sliders ---


def test_a_drag_shows_each_value_without_the_server_and_the_release_keeps_it(opened):
    lesson = opened.lesson
    asked, address, drawn = opened.asked, opened.url, opened.ink()
    last, start = len(lesson.values) - 1, lesson.values.index(lesson.parameter.default)
    opened.grab(lesson.key)
    for index in [stop for stop in (last // 2, 0, last) if stop != start]:
        opened.drag_to(lesson.key, index, last)
        opened.shows(lesson.caption(**{lesson.key: lesson.values[index]}))
        opened.picture()
        drawn, before = opened.ink(), drawn
        assert drawn != before
    assert opened.asked == asked
    assert opened.url == address
    with opened.answer():
        opened.page.mouse.up()
    opened.shows(lesson.caption(**{lesson.key: lesson.values[last]}))
    assert opened.asked == asked + 1
    assert opened.query == {lesson.key: lesson.text(lesson.values[last])}
    assert opened.ink() == drawn


def test_arrow_keys_go_from_value_to_value(opened):
    lesson = opened.lesson
    ahead = lesson.values[lesson.values.index(lesson.parameter.default) + 1]
    opened.press("ArrowRight", on=opened.slider(lesson.key))
    opened.shows(lesson.caption(**{lesson.key: ahead}))
    assert opened.query == {lesson.key: lesson.text(ahead)}
    opened.press("ArrowLeft", on=opened.slider(lesson.key))
    opened.shows(lesson.caption())
    assert opened.query == {}


def test_without_a_view_of_the_drag_figures_follow_on_release(read):
    reader = read()
    reader.page.add_init_script(  # the slider's markup has changed: nothing tells of its steps
        """const observe = MutationObserver.prototype.observe
        MutationObserver.prototype.observe = function (target, options) {
          const steps = options.attributeFilter?.includes('aria-valuetext')
          if (!steps) observe.call(this, target, options)
        }"""
    )
    reader.open()
    last = len(HOME.values) - 1
    reader.grab("d_k")
    reader.drag_to("d_k", last, last)
    reader.page.wait_for_timeout(200)
    reader.shows(HOME.caption())  # else the observer is not off and the rest shows nothing
    with reader.answer():
        reader.page.mouse.up()
    reader.shows(HOME.caption(d_k=1024))
    with reader.answer():
        reader.presets().first.click()
    reader.shows(HOME.caption(**reader.state(HOME)))
    assert reader.query != {"d_k": "1024"}


# --- links, presets, reset ---


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("", {"d_k": "256"}),
        ("temperature", {"temperature": "11.3", "scores": "20, 10.5, −1"}),
        ("overflow", {"offset": "700", "format": "float64", "scores": "1, 2, 3, 4"}),
    ],
)
def test_a_link_restores_its_state(reader, path, query):
    lesson = BY_PATH[path]
    reader.open(path, **query)
    reader.shows(lesson.caption(**query))
    assert reader.url == f"{reader.address}/{path}?{urlencode(query)}"
    assert reader.slider(lesson.key).get_attribute("aria-valuetext") == query[lesson.key]
    if "scores" in query:
        assert reader.page.get_by_label("Scores", exact=True).input_value() == query["scores"]


def test_every_preset_is_a_link_wherever_one_comes_from_and_reset_leads_back(opened):
    lesson, at_first = opened.lesson, opened.captions
    links, order = {}, range(opened.presets().count())
    for place in (*order, 0):
        with opened.answer():
            opened.presets().nth(place).click()
        opened.shows(lesson.caption(**opened.state(lesson)))
        link, captions = links.setdefault(place, (opened.query, opened.captions))
        assert opened.query == link
        opened.shows(*captions)
    assert any(captions != at_first for _, captions in links.values())
    with opened.answer():
        opened.reset.click()
    opened.shows(*at_first)
    assert opened.query == {}


# --- a prediction ---


def test_a_prediction_jumps_to_its_question_and_is_drawn_until_reset(opened):
    lesson, choice = opened.lesson, opened.prediction
    guess = choice.locator("input[type='range']")
    opened.press("End", on=opened.slider(lesson.key))
    opened.press("ArrowLeft", on=guess)
    said, before = guess.get_attribute("aria-valuetext"), choice.locator("p").count()
    with opened.answer():
        choice.get_by_role("button", name="See").click()
    opened.shows(lesson.caption(**lesson.asked))
    assert {**lesson.asked, **opened.state(lesson)} == lesson.asked
    notes = opened.page.locator(".live-figure").first.locator(".annotation-text")
    assert notes.filter(has_text="you said").count() == 1
    assert choice.locator("p").count() == before + 1
    assert said in choice.locator("p").last.text_content()
    drawn = opened.ink()
    opened.press("ArrowLeft", on=guess)  # another guess is drawn elsewhere
    assert opened.ink() != drawn
    with opened.answer():
        opened.reset.click()
    opened.shows(lesson.caption())
    assert opened.query == {}
    assert notes.filter(has_text="you said").count() == 0
    assert choice.locator("p").count() == before


# --- scores of one's own ---


def test_bad_scores_are_told_and_the_last_good_figure_stays(reader):
    field = reader.open("temperature").page.get_by_label("Scores", exact=True)
    warning = reader.page.get_by_role("alert")
    assert warning.count() == 0
    field.fill("3, 2, 1")
    reader.press("Enter", on=field)
    good = TEMPERATURE.caption(scores="3, 2, 1")
    reader.shows(good)
    drawn = reader.ink()
    for bad in ("3, x, 1", "", "nan", "1e999", "1,5", "7 " * (MOST_SCORES + 1)):
        field.fill(bad)
        reader.press("Enter", on=field)
        with pytest.raises(ValueError, match="Scores") as told:
            parse_scores(bad)
        assert str(told.value) in warning.text_content()
        reader.shows(good)
        assert reader.ink() == drawn
    reader.press("ArrowRight", on=reader.slider("temperature"))
    reader.shows(TEMPERATURE.caption(scores="3, 2, 1", temperature="11.3"))
    field.fill("2, 1")
    reader.press("Enter", on=field)
    reader.shows(TEMPERATURE.caption(scores="2, 1", temperature="11.3"))
    assert warning.count() == 0


# --- from page to page ---


def test_a_reader_who_leaves_a_page_and_returns_finds_it_working(reader):
    reader.open("temperature", temperature=4)
    reader.go("Spread")
    reader.shows(BY_PATH["variance"].caption())
    reader.go("Temperature")
    reader.shows(TEMPERATURE.caption(**reader.state(TEMPERATURE)))
    at = reader.slider("temperature").get_attribute("aria-valuetext")
    reader.shows(TEMPERATURE.caption(temperature=at))
    reader.press("ArrowRight", on=reader.slider("temperature"))
    reader.shows(TEMPERATURE.caption(**reader.state(TEMPERATURE)))
    with reader.answer():
        reader.page.go_back()
    here = BY_PATH[urlsplit(reader.url).path.strip("/")]
    reader.shows(here.caption(**reader.state(here)))
    assert reader.alarms == []


def test_a_link_is_a_right_first_request_of_a_fresh_server(read, tmp_path):
    path, lesson = "worked-example", BY_PATH["worked-example"]
    at = lesson.values[1]
    fresh = Server(tmp_path / "log.txt")
    try:
        reader = read(fresh).open(path, **{lesson.key: at})
        reader.assert_quiet()
        reader.shows(lesson.caption(**{lesson.key: at}))
        assert reader.query == {lesson.key: lesson.text(at)}
        assert reader.page.locator("h1").count() == 1
        assert reader.page.locator(".st-key-onward a").count() > 0
        title = reader.page.title()
        reader.go("Gradients")
        assert reader.page.title() == title
        reader.shows(BY_PATH["gradients"].caption())
        assert reader.alarms == []
    finally:
        fresh.stop()


HOSTILE = {
    "a word, an exponent, an unknown key": (
        "temperature",
        "temperature=1e999&d_k=abc&unknown=1&scores=nan",
        {"scores": "nan"},
    ),
    "two values and markup": (
        "variance",
        "samples=1&samples=2&d_k=<script>alert(1)</script>&seed='\"><img src=x>",
        {},
    ),
    "a NUL, and almost values": ("gradients", "gap=4.1&d_k=65&keys=-3&temperature=%00%FF", {}),
    "very long": ("worked-example", f"d_k={'9' * 2000}&scores={'1,' * 2000}", {}),
}


@pytest.mark.parametrize(("path", "query", "kept"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_link_opens_the_page_as_if_it_said_nothing(reader, path, query, kept):
    reader.open(f"{path}?{query}")
    lesson = BY_PATH[path]
    reader.shows(lesson.caption())
    reader.assert_quiet()
    assert reader.page.locator("h1").count() == 1
    assert {**reader.query, **kept} == reader.query
    at = lesson.values.index(lesson.parameter.default)
    reader.press("ArrowRight", on=reader.slider(lesson.key))  # and the page can be used
    reader.shows(lesson.caption(**{lesson.key: lesson.values[at + 1]}))


def test_a_page_that_is_not_there_leads_home(reader):
    reader.open("no-such-page", d_k=256)
    assert reader.problems  # Streamlit's own words, in the console too
    assert all("does not seem to exist" in told for told in reader.problems)
    reader.problems.clear()
    reader.page.keyboard.press("Escape")
    reader.press("ArrowLeft", on=reader.slider("d_k"))
    assert reader.captions[0] in [HOME.caption(d_k=width) for width in HOME.values]


# --- themes ---


def test_charts_wear_the_theme_and_change_with_it_at_once(read):
    reader = read(color_scheme="dark").open("overflow")
    dark = reader.papers()
    assert len(dark) == 1, "charts and page have one paper colour"
    asked = reader.asked
    reader.page.emulate_media(color_scheme="light")
    reader.until(lambda: len(reader.papers()) == 1 and reader.papers() != dark)
    for name, papers in (("Dark", dark), ("Light", reader.papers()), ("Dark", dark)):
        reader.page.get_by_test_id("stMainMenuButton").click()
        reader.page.get_by_test_id(f"stMainMenuItem-theme-{name}").click()
        reader.until(lambda papers=papers: reader.papers() == papers)
        reader.page.keyboard.press("Escape")
    assert reader.asked == asked
    reader.press("ArrowRight", on=reader.slider("offset"))
    assert reader.papers() == dark


# --- what is served ---


@pytest.mark.parametrize("file", ["live_figure.js", "plotly-cartesian.min.js"])
def test_a_browser_is_told_that_scripts_are_scripts(server, file):
    with urllib.request.urlopen(f"{server.address}/app/static/{file}") as answer:
        assert answer.headers.get_content_type().endswith("/javascript")
        assert answer.read() == (ROOT / "static" / file).read_bytes()
