"""The dialog that shares what is shown."""

import io
from urllib.parse import parse_qsl, urlsplit

import pytest
import zxingcpp
from axe_playwright_python.base import AXE_SCRIPT
from PIL import Image

from sdpa.ui.present import PARTS
from sdpa.views import VIEWS

WEIGHTS = VIEWS["temperature.weights"]
STATE = {"scores": "20, 10, 0", "temperature": "4"}


@pytest.fixture(scope="module")
def once(seat):
    with seat(viewport={"width": 1920, "height": 1080}) as reader:
        reader.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield reader.open("temperature", **STATE)


@pytest.fixture
def shared(once):
    """The dialog, as it opens."""
    once.page.bring_to_front()
    once.page.get_by_role("button", name="Share").click()
    dialog = once.page.locator("dialog.share")
    dialog.locator(".link").filter(has_text="http").wait_for()
    yield dialog
    once.page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    assert once.page.evaluate("document.activeElement.className") == "open-share"


def scanned(dialog):
    picture = dialog.locator("canvas").screenshot()
    (code,) = zxingcpp.read_barcodes(Image.open(io.BytesIO(picture)))
    return code.text


def query(link):
    return dict(parse_qsl(urlsplit(link).query))


def test_the_link_is_the_state_s_and_the_code_is_the_link_s_and_large(once, shared):
    link = shared.locator(".link").text_content()
    assert link.partition("?")[0] == f"{once.address}/temperature"
    assert query(link) == STATE
    assert scanned(shared) == link
    assert shared.locator("canvas").bounding_box()["height"] >= 0.6 * 1080
    box = shared.bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 1080
    assert "Only this computer" in shared.locator(".note").text_content()


def test_the_link_follows_a_slider_that_has_moved_since(once):
    once.press("ArrowRight", on=once.slider("temperature"))
    once.page.get_by_role("button", name="Share").click()
    link = once.page.locator("dialog.share .link").text_content()
    assert query(link) == once.query != STATE
    once.page.keyboard.press("Escape")
    once.press("ArrowLeft", on=once.slider("temperature"))


def test_choices_change_the_link_and_nothing_on_the_page(once, shared):
    before = once.url, once.captions
    shared.get_by_label("As slides").check()
    for name in (PARTS["prediction"], PARTS["prose"]):
        shared.get_by_role("checkbox", name=name).check()
    link = shared.locator(".link").text_content()
    assert query(link) == {**STATE, "present": "true", "hide": "prediction,prose"}
    assert scanned(shared) == link
    shared.locator(".theme").select_option("dark")
    code = shared.locator(".embed").input_value()
    assert code.startswith('<iframe src="http')
    assert 'title="Why attention divides by √dₖ"' in code
    embedded = code.split('"')[1].replace("&amp;", "&")
    assert query(embedded) == {**query(link), "embed": "true", "embed_options": "dark_theme"}
    assert (once.url, once.captions) == before


def test_what_is_copied_is_the_link_and_the_code(once, shared):
    for button, field in (("Copy link", ".link"), ("Copy code to embed", ".embed")):
        shared.get_by_role("button", name=button, exact=True).click()
        shared.get_by_text("Copied.").wait_for()
        pasted = once.page.evaluate("navigator.clipboard.readText()")
        part = shared.locator(field)
        assert pasted == (part.input_value() if field == ".embed" else part.text_content())


def test_without_a_clipboard_the_text_is_copied_the_old_way(once, shared):
    once.page.evaluate(
        """() => Object.defineProperty(navigator, 'clipboard',
          { value: undefined, configurable: true })"""
    )
    shared.get_by_role("button", name="Copy link", exact=True).click()
    shared.get_by_text("Copied.").wait_for()
    chosen = once.page.evaluate("document.getSelection().toString()")
    assert chosen in ("", shared.locator(".link").text_content())
    once.page.evaluate("() => { delete navigator.clipboard }")


def test_started_for_the_network_the_link_is_the_network_s(once):
    composed = once.page.evaluate(
        """async () => {
          const { compose } = await import(new URL('app/static/share.js', document.baseURI))
          const at = 'http://localhost:8501/lesson/?d_k=256&embed=true&embed_options=dark_theme'
          return ['10.0.0.7', '[2001:db8::1]'].map((host) => compose(at, { host }))
        }"""
    )
    assert composed == [
        "http://10.0.0.7:8501/lesson/?d_k=256",
        "http://[2001:db8::1]:8501/lesson/?d_k=256",
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_grave_fault_and_a_phone_has_room(once, shared, theme):
    page = once.page
    page.emulate_media(color_scheme=theme)
    page.evaluate(AXE_SCRIPT)
    page.wait_for_timeout(300)
    report = page.evaluate("axe.run('dialog.share', {resultTypes: ['violations']})")
    faults = [one for one in report["violations"] if one["impact"] in ("serious", "critical")]
    assert faults == []
    page.set_viewport_size({"width": 390, "height": 844})
    box = shared.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert scanned(shared) == shared.locator(".link").text_content()
    page.set_viewport_size({"width": 1920, "height": 1080})
