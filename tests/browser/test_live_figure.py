"""What the live figure does beyond following a drag."""

import pytest

from sdpa.ui.frame import PAGES
from sdpa.views import VIEWS
from tests.bench.leaks import kept

CHAIN = VIEWS["chain.chain"]
CAPTIONS = [CHAIN(d_k=width).caption for width in CHAIN.swept["d_k"].values]


@pytest.fixture(scope="module")
def once(seat):
    with seat() as reader:
        yield reader.open()


@pytest.fixture
def home(once):
    """Home as it opens; reset, or opened again, where the test before left it changed."""
    once.page.bring_to_front()
    if once.query:
        with once.answer():
            once.reset.click()
    if once.query or once.captions[:1] != [CHAIN().caption] or not once.quiet():
        once.open()
    once.forget()
    yield once
    once.assert_quiet()


def test_play_runs_through_all_frames_in_about_three_seconds_and_comes_back(home):
    asked = home.asked
    seen = home.page.evaluate(
        """() => new Promise((done) => {
          const caption = document.querySelector('.live-figure figcaption')
          const button = document.querySelector('.live-figure .play')
          const seen = [], begun = performance.now()
          new MutationObserver(() => seen.push(caption.textContent))
            .observe(caption, { childList: true, characterData: true, subtree: true })
          button.click()
          const watch = setInterval(() => {
            if (button.textContent === 'Play') {
              clearInterval(watch)
              done([seen, performance.now() - begun])
            }
          }, 20)
        })"""
    )
    captions, took = seen
    assert set(captions) == set(CAPTIONS)
    assert captions[-1] == CHAIN().caption
    assert 2500 < took < 6000
    assert home.asked == asked, "playing asks the server nothing"


def test_any_touch_stops_the_play(home):
    play = home.page.locator(".live-figure .play").first
    for touch in (
        lambda: home.page.keyboard.press("Shift"),
        lambda: home.page.mouse.click(640, 90),
        play.click,
    ):
        play.click()
        assert play.text_content() == "Stop"
        touch()
        assert play.text_content() == "Play"
        home.shows(CHAIN().caption)


def test_with_reduced_motion_each_press_goes_one_step(read):
    reader = read(reduced_motion="reduce").open(d_k=256)
    play = reader.page.locator(".live-figure .play").first
    play.press("Enter")
    reader.shows(CHAIN(d_k=512).caption)
    reader.page.wait_for_timeout(500)
    reader.shows(CHAIN(d_k=512).caption)
    play.press("Enter")
    reader.shows(CHAIN(d_k=1024).caption)
    reader.page.keyboard.press("Tab")
    reader.shows(CHAIN(d_k=256).caption)


def test_a_figures_tools_are_one_tab_stop_and_arrows_go_among_them(home):
    tools = home.page.locator(".live-figure .tools").first
    stops = tools.locator("button").evaluate_all("(all) => all.map((one) => one.tabIndex)")
    assert sorted(stops) == [-1, -1, 0]
    tools.get_by_role("button", name="Play").focus()
    for name in ("Data", "Save", "Play"):
        home.page.keyboard.press("ArrowRight")
        assert home.page.evaluate("document.activeElement.textContent") == name


def test_a_caption_is_read_out_when_a_move_ends_and_not_during_it(home):
    spoken = home.page.locator(".live-figure .spoken").first
    assert spoken.get_attribute("aria-live") == "polite"
    before = spoken.text_content()
    assert before != CAPTIONS[-1]
    home.grab("d_k")
    home.drag_to("d_k", 8, 8)
    home.shows(CAPTIONS[-1])
    assert spoken.text_content() == before
    with home.answer():
        home.page.mouse.up()
    assert spoken.text_content() == CAPTIONS[-1]
    figure = home.page.locator(".live-figure").first
    label = figure.get_attribute("aria-labelledby")
    assert home.page.locator(f"#{label}").text_content() == CAPTIONS[-1]


def test_a_release_draws_nothing_that_is_on_the_screen_already(home):
    home.page.evaluate(
        """() => {
          window.draws = 0
          const react = (window.react = Plotly.react)
          Plotly.react = (...all) => { window.draws += 1; return react(...all) }
        }"""
    )
    home.press("ArrowRight", on=home.slider("d_k"))
    home.page.wait_for_timeout(400)
    assert home.page.evaluate("window.draws") == 1
    home.page.evaluate("() => { Plotly.react = window.react }")


def test_a_zoom_stays_while_the_state_changes(reader):
    reader.open()
    plot = "document.querySelector('.live-figure .js-plotly-plot')"
    panel = reader.page.locator(".live-figure .draglayer .x2y2 .nsewdrag").first.bounding_box()
    mouse = reader.page.mouse
    mouse.move(panel["x"] + 0.2 * panel["width"], panel["y"] + 0.2 * panel["height"])
    mouse.down()
    mouse.move(panel["x"] + 0.8 * panel["width"], panel["y"] + 0.7 * panel["height"], steps=5)
    mouse.up()
    reader.page.wait_for_timeout(500)
    zoomed = reader.page.evaluate(f"{plot}._fullLayout.yaxis2.range")
    assert zoomed == pytest.approx([0.3, 0.8], abs=0.02)
    reader.press("ArrowRight", on=reader.slider("d_k"))
    assert reader.page.evaluate(f"{plot}._fullLayout.yaxis2.range") == zoomed


def test_figures_follow_a_drag_while_the_server_is_away(reader):
    reader.open()
    reader.page.context.set_offline(True)
    reader.grab("d_k")
    reader.drag_to("d_k", 0, 8)
    reader.shows(CAPTIONS[0])
    reader.drag_to("d_k", 8, 8)
    reader.shows(CAPTIONS[-1])
    reader.page.context.set_offline(False)


def test_going_from_page_to_page_leaves_nothing_behind(reader):
    reader.open()
    names = [page.menu for page in PAGES[1:3]] + [PAGES[0].menu]
    for name in names:
        reader.go(name)
    reader.page.wait_for_timeout(800)
    before = kept(reader.page)
    for name in names * 3:
        reader.go(name)
    reader.page.wait_for_timeout(800)
    after = kept(reader.page)  # python -m tests.bench.leaks goes on to 200 pages
    assert after.nodes < 1.1 * before.nodes
    assert after.listeners < 1.1 * before.listeners


def test_a_figure_that_leaves_while_it_is_drawn_leaves_quietly(reader):
    reader.open()
    reader.page.evaluate(
        """async () => {
          const module = await import(new URL('app/static/live_figure.js', document.baseURI))
          const root = document.querySelector('.live-figure').parentElement
          const react = Plotly.react
          Plotly.react = (plot, ...rest) => {
            const drawing = react(plot, ...rest)
            window.alive = drawing.then(() => plot._fullLayout !== undefined)
            return drawing
          }
          const slider = document.querySelector('.st-key-d_k input[type="range"]')
          slider.setAttribute('aria-valuetext', 'elsewhere')
          slider.value = 0
          await Promise.resolve()
          module.remove(root)
        }"""
    )
    assert reader.page.evaluate("window.alive") is True
