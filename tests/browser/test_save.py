"""What a reader takes away from a figure on the page."""

import io
import re
import struct
from base64 import b64encode
from xml.etree.ElementTree import canonicalize

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from sdpa.export.command import main
from sdpa.export.page import page as page_of
from sdpa.views import VIEWS
from sdpa.views.code import code
from sdpa.views.message import message
from tests.browser import find

CHAIN = VIEWS["chain.chain"](d_k=256)
PICTURE_JS = "await import(new URL('app/static/picture.js', document.baseURI))"


@pytest.fixture(scope="module")
def once(seat):
    with seat() as reader:
        reader.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield reader.open(d_k=256)


@pytest.fixture
def save(once):
    """Press a button of the first figure's Save as a reader does; give what is saved."""
    once.page.bring_to_front()
    figure = once.page.locator(".live-figure").first
    panel = figure.locator(".save")
    if panel.is_hidden():
        figure.get_by_role("button", name="Save").click()

    def press(name):
        with once.page.expect_download() as download:
            panel.get_by_role("button", name=name).click()
        once.page.wait_for_function(
            "() => document.querySelector('.save .told').textContent.startsWith('Saved ')"
        )
        return download.value.suggested_filename, download.value.path().read_bytes()

    press.panel = panel
    return press


def size_of(png):
    return struct.unpack(">II", png[16:24])


def test_a_picture_for_a_slide_is_two_presses_away_and_opaque(once, save):
    name, png = save("Picture, PNG")
    assert (name, size_of(png)) == ("chain.chain_d_k=256.png", (3840, 2160))
    save.panel.get_by_label("Colours").select_option("dark")
    save.panel.get_by_label("Size").select_option("1920 × 1080")
    name, dark = save("Picture, PNG")
    assert (name, size_of(dark)) == ("chain.chain_d_k=256_dark.png", (1920, 1080))
    corner = """async (png) => {
      const bytes = Uint8Array.from(atob(png), (character) => character.charCodeAt(0))
      const bitmap = await createImageBitmap(new Blob([bytes]))
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')
      context.drawImage(bitmap, 0, 0)
      return [...context.getImageData(bitmap.width - 1, 0, 1, 1).data]
    }"""
    assert once.page.evaluate(corner, b64encode(png).decode()) == [0xFD, 0xFC, 0xF9, 255]
    assert once.page.evaluate(corner, b64encode(dark).decode()) == [0x15, 0x18, 0x1D, 255]


def test_the_small_print_has_the_state_and_the_link_and_can_be_left_out(once, save):
    save.panel.get_by_label("Colours").select_option("light")
    _, svg = save("Drawing")
    line = f"chain.chain · d_k = 256 · {once.address}/?d_k=256"
    assert f">{line}<" in svg.decode()
    save.panel.get_by_label("small print").uncheck()
    _, svg = save("Drawing")
    assert line not in svg.decode()
    assert once.address not in svg.decode()
    save.panel.get_by_label("small print").check()


def test_a_copied_picture_can_be_pasted(once, save):
    save.panel.get_by_label("Size").select_option("1280 × 720")
    save.panel.get_by_role("button", name="Copy").click()
    once.page.get_by_text("The picture is in the clipboard.").wait_for()
    pasted = once.page.evaluate(
        """async () => {
          const [item] = await navigator.clipboard.read()
          const { width, height } = await createImageBitmap(await item.getType('image/png'))
          return [width, height]
        }"""
    )
    assert pasted == [1280, 720]


def test_data_and_code_and_page_are_python_s(once, save):
    name, data = save("Data")
    assert name == "chain.chain_d_k=256.csv"
    assert_frame_equal(pd.read_csv(io.BytesIO(data)), CHAIN.table, check_dtype=False)
    assert save("Code") == ("chain.chain_d_k=256.py", code(CHAIN).encode())
    before = once.captions
    assert save("Live page") == ("chain.chain_d_k=256.html", page_of(CHAIN).encode())
    assert once.captions == before
    once.press("ArrowRight", on=once.slider("d_k"))  # later answers carry no page
    assert once.page.locator(".save .told").first.text_content().startswith("Saved ")


def test_every_view_s_data_comes_out_as_python_s_table(once):
    views = [spec() for spec in VIEWS.values()]
    texts = once.page.evaluate(
        f"""async (messages) => {{
          const {{ csv }} = {PICTURE_JS}
          return Promise.all(messages.map((one) => csv(JSON.parse(one)).text()))
        }}""",
        [message(view) for view in views],
    )
    for view, text in zip(views, texts, strict=True):
        mine = pd.read_csv(io.StringIO(view.table.to_csv(index=False)))
        assert_frame_equal(pd.read_csv(io.StringIO(text)), mine, check_dtype=False, obj=view.name)


def test_the_browser_s_picture_is_the_command_line_s(once, browser, tmp_path, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", find.find(browser.browser_type))
    arguments = ["chain.chain", "--set", "d_k=256", "--size", "1366x769", "--format", "svg"]
    assert main([*arguments, "--theme", "dark", "--out", str(tmp_path)]) == 0
    theirs = (tmp_path / "chain.chain_d_k=256_dark.svg").read_text(encoding="utf-8")
    ours = once.page.evaluate(
        f"""async ([text, print]) => {{
          const {{ picture }} = {PICTURE_JS}
          const options = {{ theme: 'dark', width: 1366, height: 769, format: 'svg', print }}
          return (await picture(JSON.parse(text), options)).text()
        }}""",
        [message(CHAIN), "chain.chain · d_k = 256 · ?d_k=256"],
    )
    assert unnamed(ours) == unnamed(theirs)
    assert re.match(r'<svg [^>]*width="1366" height="769"', ours)
    assert all("Arial, Helvetica, sans-serif" in tag for tag in re.findall(r"<text [^>]*>", ours))
    assert f"<title>chain.chain</title><desc>{CHAIN.caption}</desc>" in ours


def unnamed(svg):
    """Without what Plotly draws by lot; attributes in one order, a tag a line."""
    for name in re.findall(r"\b(?:clip|defs-|topdefs-|legend|trace)([0-9a-f]{6})", svg):
        svg = svg.replace(name, "")
    return canonicalize(svg).replace("><", ">\n<").splitlines()
