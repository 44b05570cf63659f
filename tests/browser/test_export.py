"""What the export writes, opened as a reader opens it: from a file, without a network."""

import re
import struct
from contextlib import contextmanager

import pytest

from sdpa.export.command import main
from sdpa.export.lecture import STEPS
from sdpa.views import VIEWS
from sdpa.views.palette import THEMES
from tests.browser import find

SIZE = 1366, 769  # no multiple of what it is laid out on


@pytest.fixture(scope="module")
def out(tmp_path_factory, browser):
    """Every kind of file, drawn by the browser that the tests use."""
    folder = tmp_path_factory.mktemp("out")
    common = ["--out", str(folder), "--format"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BROWSER_PATH", find.find(browser.browser_type))
        size = "x".join(map(str, SIZE))
        assert (
            main(["chain.chain", "--set", "d_k=256", "--size", size, *common, "png,svg,pdf"]) == 0
        )
    assert main(["dot_product.plane", "chain.chain", *common, "html", "--handout"]) == 0
    return folder


@pytest.fixture
def open_file(browser, out):
    """Open a page of the export; whatever it asks another place for, or complains of, fails."""

    @contextmanager
    def opened(name, **options):
        context = browser.new_context(
            viewport={"width": 1280, "height": 720}, offline=True, **options
        )
        page = context.new_page()
        said, asked = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        try:
            page.goto((out / name).as_uri())
            page.wait_for_function(
                """[...document.querySelectorAll('.block')]
                  .every((block) => block.querySelector('.main-svg'))"""
            )
            yield page
            assert said == []
            assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [
                (out / name).as_uri()
            ]
        finally:
            context.close()

    return opened


def shows(page, caption, block=0):
    page.wait_for_function(
        "([i, text]) => document.querySelectorAll('figcaption')[i].textContent === text",
        arg=[block, caption],
    )


def ink(page, block=0):
    return page.locator(".block").nth(block).locator(".main-svg").first.inner_html()


def test_keys_move_the_figure_its_caption_formula_and_table_to_python_s(open_file):
    chain = VIEWS["chain.chain"]
    with open_file("chain.chain.html") as page:
        slider = page.get_by_role("slider")
        page.get_by_role("button", name="Data").click()
        seen = {ink(page)}
        for key, width in (("ArrowRight", 128), ("Home", 4), ("End", 1024), ("ArrowLeft", 512)):
            slider.press(key)
            shows(page, chain(d_k=width).caption)
            assert slider.get_attribute("aria-valuetext") == str(width)
            assert page.locator("output").text_content() == str(width)
            assert f"<mn>{width}</mn>" in page.locator(".formula").inner_html()
            seen.add(ink(page))
        assert len(seen) == 5
        rows = page.locator(".data tr").count()
        assert rows == 1 + len(chain().table)


def test_a_drag_is_followed_before_its_release(open_file):
    chain = VIEWS["chain.chain"]
    with open_file("chain.chain.html") as page:
        box = page.get_by_role("slider").bounding_box()
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] / 2, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] - 1, middle, steps=5)
        shows(page, chain(d_k=1024).caption)
        page.mouse.move(box["x"] + 1, middle, steps=5)
        shows(page, chain(d_k=4).caption)
        page.mouse.up()
        shows(page, chain(d_k=4).caption)


def test_two_sliders_that_both_moved_show_the_state_of_both(open_file):
    plane = VIEWS["dot_product.plane"]
    with open_file("dot_product.plane.html") as page:
        angle, length = (page.get_by_role("slider", name=name) for name in ("Angle", "Length"))
        for _ in range(3):
            angle.press("ArrowRight")
        for _ in range(2):
            length.press("ArrowRight")
        view = plane(angle=105, length_q=3.0)
        shows(page, view.caption)
        angle.press("ArrowLeft")
        view = plane(angle=90, length_q=3.0)
        shows(page, view.caption)
        page.get_by_role("button", name="Data").click()
        scores = page.locator(".data tbody tr td:last-child").all_text_contents()
        assert [float(score) for score in scores] == pytest.approx(
            view.table["score q·k"].tolist(), rel=1e-5, abs=1e-9
        )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_follows_the_system_s_theme_at_once(open_file, theme):
    def paper(page):
        return page.evaluate(
            """[document.body, document.querySelector('.main-svg')]
              .map((e) => getComputedStyle(e).backgroundColor)"""
        )

    def rgb(name):
        colour = THEMES[name]["paper"].removeprefix("#")
        return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (0, 2, 4))})"

    other = {"light": "dark", "dark": "light"}[theme]
    with open_file("chain.chain.html", color_scheme=theme) as page:
        assert paper(page) == [rgb(theme)] * 2
        page.emulate_media(color_scheme=other)
        page.wait_for_timeout(100)
        assert paper(page) == [rgb(other)] * 2


def test_a_phone_has_the_whole_page_and_stacked_panels(open_file):
    with open_file("chain.chain.html", screen={"width": 390, "height": 844}) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        slider, plot = (page.locator(name).bounding_box() for name in ("input", ".plot"))
        assert slider["y"] + slider["height"] <= plot["y"]
        assert plot["height"] > 400


def test_the_handout_s_figures_have_sliders_of_their_own(open_file):
    with open_file("handout.html") as page:
        captions = [step.drawn().caption for step in STEPS]
        for block, caption in enumerate(captions):
            shows(page, caption, block)
        for block, step in enumerate(STEPS):
            slider = page.locator(".block").nth(block).locator("input").first
            slider.press("Home")
            first = next(iter(step.drawn().spec.swept.values()))
            captions[block] = step.drawn({**step.state, first.key: first.values[0]}).caption
            shows(page, captions[block], block)
        assert page.locator("figcaption").all_text_contents() == captions


def test_a_page_plays_and_stops(open_file):
    chain = VIEWS["chain.chain"]
    with open_file("chain.chain.html") as page:
        named = page.evaluate(
            """(first) => new Promise((done) => {
              const button = document.querySelector('.play')
              const caption = document.querySelector('figcaption')
              button.click()
              new MutationObserver(() => {
                if (caption.textContent !== first) return
                const playing = button.textContent
                button.click()
                done([playing, button.textContent])
              }).observe(caption, { childList: true })
            })""",
            chain(d_k=4).caption,
        )
        assert named == ["Stop", "Play"]
        shows(page, chain().caption)


# --- pictures ---


def test_a_png_has_the_size_that_was_asked_for_and_its_paper_is_opaque(out, browser):
    picture = (out / "chain.chain_d_k=256.png").read_bytes()
    assert struct.unpack(">II", picture[16:24]) == SIZE
    page = browser.new_page()
    page.goto((out / "chain.chain_d_k=256.png").as_uri())
    corners = page.evaluate(
        """() => {
          const image = document.querySelector('img')
          const [width, height] = [image.naturalWidth, image.naturalHeight]
          const canvas = Object.assign(document.createElement('canvas'), { width, height })
          const context = canvas.getContext('2d')
          context.drawImage(image, 0, 0)
          const last = [width - 1, height - 1]
          return [[0, 0], last].map(([x, y]) => [...context.getImageData(x, y, 1, 1).data])
        }"""
    )
    page.close()
    assert corners == [[0xFD, 0xFC, 0xF9, 255]] * 2


def test_an_svg_keeps_text_as_text_and_says_what_it_shows(out):
    svg = (out / "chain.chain_d_k=256.svg").read_text(encoding="utf-8")
    view = VIEWS["chain.chain"](d_k=256)
    assert re.match(rf'<svg [^>]*width="{SIZE[0]}" height="{SIZE[1]}"', svg)
    assert f"<title>chain.chain</title><desc>{view.caption}</desc>".replace("'", "&#x27;") in svg
    assert ">chain.chain · d_k = 256 · ?d_k=256<" in svg
    texts = re.findall(r"<text [^>]*>", svg)
    assert len(texts) > 20
    assert all("Arial, Helvetica, sans-serif" in text for text in texts)
    paper = re.search(r'<rect x="0" y="0" [^>]*style="([^"]*)"', svg)
    assert "rgb(253, 252, 249)" in paper[1]
    assert "fill-opacity: 1" in paper[1]


def test_a_pdf_s_page_is_the_picture_without_a_frame(out):
    pdf = (out / "chain.chain_d_k=256.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    boxes = re.findall(rb"/MediaBox \[(.*?)\]", pdf)
    left, bottom, right, top = map(float, boxes[-1].split())
    assert (right - left, top - bottom) == pytest.approx((SIZE[0] * 0.75, SIZE[1] * 0.75))
    assert (left, bottom) == pytest.approx((7.2, 7.2))  # 0.1 inch
    before, start = (int(found) for found in re.findall(rb"startxref\n(\d+)", pdf))
    table = rb"xref\n(\d+) 1\n(\d{10}) 00000 n \ntrailer\n<<(.*?)>>"
    entry = re.match(table, pdf[start:], re.DOTALL)
    assert pdf[int(entry[2]) :].startswith(entry[1] + b" 0 obj\n<</Type /Page\n")
    assert f"/Prev {before}".encode() in entry[3]
