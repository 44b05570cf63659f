"""A server of the lesson, a browser, and a reader who looks at a page in it."""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from playwright.sync_api import sync_playwright
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from sdpa.ui.frame import PAGES
from tests.browser import find

ROOT = Path(__file__).parents[2]
HOST = "127.0.0.1"
PATIENCE = 20  # s, for anything that a reader waits for

# A page has been drawn: its script has ended and every figure of it holds a chart.
DRAWN = """() => {
  const figures = [...document.querySelectorAll('.live-figure')]
  const app = document.querySelector('[data-testid="stApp"]')
  return app?.dataset.testScriptState === 'notRunning' && figures.length > 0 &&
    figures.every((figure) => figure.querySelector('.main-svg'))
}"""
NEXT_PICTURE = """() => new Promise(
  (seen) => requestAnimationFrame(() => requestAnimationFrame(() => seen())))"""


class Server:
    """``streamlit run app.py`` as a reader starts it, here or in another app's folder."""

    def __init__(self, log: Path, folder: Path = ROOT, **options: str) -> None:
        self.log, self.folder, self.options = log, folder, options
        for _ in range(3):  # another program may take the free port first
            if self._start():
                return
        raise RuntimeError(f"The server doesn't start:\n{self.said()}")

    def _start(self) -> bool:
        with socket.socket() as free:
            free.bind((HOST, 0))
            port = free.getsockname()[1]
        self.address = f"http://{HOST}:{port}"
        options = {
            "server.port": port,
            "server.address": HOST,
            "server.headless": "true",
            "server.fileWatcherType": "none",
            **{f"server.{name}": value for name, value in self.options.items()},
        }
        base = f"/{self.options['baseUrlPath']}" if "baseUrlPath" in self.options else ""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", "app.py"]
                + [f"--{name}={value}" for name, value in options.items()],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.address}{base}/_stcore/health", timeout=5):
                    return True
            except OSError:
                time.sleep(0.05)
        self.stop()
        return False

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def cpu(self) -> float:
        """Seconds of processor time that the server has taken, all of its threads."""
        return time.clock_gettime((~self.process.pid << 3) | 2)  # Linux: clock of a process

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Reader:
    """A page in the browser, with what a reader does and sees there."""

    def __init__(self, page, server: Server) -> None:
        self.page = page
        self.server = server
        self.address = server.address
        self.problems: list[str] = []  # errors and warnings of the console, and of the page
        self.hosts: set[str] = set()
        self.heard = len(server.said())
        self.asked = self.answered = 0  # messages to the server, and runs it has ended
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        page.on("request", lambda request: self._on_address(request.url))
        page.on("websocket", self._on_websocket)

    def _on_console(self, message) -> None:
        if message.type not in ("error", "warning"):
            return
        address = message.location.get("url", "")
        # On a link straight to a page, Streamlit's front end first looks for a server there.
        probe = re.fullmatch(re.escape(self.address) + r"/[^/]+/_stcore/[a-z-]+", address)
        if not (probe and "404" in message.text):
            self.problems.append(f"console {message.type}: {message.text} ({address})")

    def _on_address(self, url: str) -> None:
        if host := urlsplit(url).hostname:  # none in data: and blob:
            self.hosts.add(host)

    def _on_websocket(self, socket) -> None:
        self._on_address(socket.url)
        socket.on("framesent", lambda _: self._count_sent())
        socket.on("framereceived", self._count_received)

    def _count_sent(self) -> None:
        self.asked += 1

    def _count_received(self, frame) -> None:
        if len(frame) > 256:  # many are; the end of a run is told in few bytes
            return
        message = ForwardMsg.FromString(frame)
        ended = message.WhichOneof("type") == "script_finished"
        if ended and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self.answered += 1

    def forget(self) -> None:
        """Look from here on only at what comes after."""
        self.problems.clear()
        self.heard = len(self.server.said())

    def quiet(self) -> bool:
        return not (self.problems or self.server_faults or self.alarms)

    def assert_quiet(self) -> None:
        """Assert that nothing went wrong in the console, on the page and in the server."""
        assert self.problems == []
        assert self.hosts <= {HOST}
        assert self.server_faults == ""
        assert self.alarms == []

    @property
    def server_faults(self) -> str:
        said = self.server.said()[self.heard :]
        return said if "most recent call last" in said else ""

    # ---- what a reader does ----

    def open(self, path: str = "", /, **query: object) -> "Reader":
        """Open a page by a link and wait for its figures; ``path`` may hold a query of its own."""
        return self.goto(f"{self.address}/{path}" + (f"?{urlencode(query)}" if query else ""))

    def goto(self, address: str) -> "Reader":
        with self.answer():
            self.page.goto(address)
        return self

    @contextmanager
    def answer(self):
        """Wait until the server has answered what is done in here, and all is drawn."""
        before = self.answered
        yield
        self.until(lambda: self.answered > before)
        self.page.wait_for_function(DRAWN)
        self.picture()

    def until(self, holds) -> None:
        """Wait until something holds."""
        end = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"did not come in {PATIENCE} s")
            self.page.wait_for_timeout(10)

    def picture(self) -> None:
        """Wait for the browser's next picture."""
        self.page.evaluate(NEXT_PICTURE)

    def press(self, key: str, on) -> None:
        """Press a key on an element and wait for the server's answer."""
        with self.answer():
            on.press(key)

    def grab(self, key: str) -> None:
        """Take a slider's thumb."""
        thumb, _ = self._thumb_and_track(key)
        self.page.mouse.move(thumb["x"] + thumb["width"] / 2, thumb["y"] + thumb["height"] / 2)
        self.page.mouse.down()

    def drag_to(self, key: str, index: int, last: int) -> None:
        """Pull the thumb that is held to the place of a value."""
        _, track = self._thumb_and_track(key)
        x = track["x"] + track["width"] * index / last
        self.page.mouse.move(x, track["y"] + track["height"] / 2, steps=3)

    def _thumb_and_track(self, key: str):
        return self.slider(key).evaluate(
            """(input) => {
              const thumb = input.parentElement.parentElement
              return [thumb, thumb.offsetParent].map((item) => item.getBoundingClientRect())
            }"""
        )

    def go(self, menu: str) -> None:
        """Go to a page by the menu."""
        section = next(page.section for page in PAGES if page.menu == menu)
        self.page.locator(".st-key-menu").get_by_role("button", name=section).click()
        with self.answer():
            body = self.page.get_by_test_id("stPopoverBody")
            body.get_by_role("link", name=menu, exact=True).click()

    # ---- what a reader sees ----

    def slider(self, key: str):
        return self.page.locator(f".st-key-{key} input[type='range']")

    @property
    def reset(self):
        return self.page.get_by_role("button", name="Reset")

    @property
    def prediction(self):
        return self.page.locator(".st-key-prediction")

    @property
    def captions(self) -> list[str]:
        return self.page.locator(".live-figure figcaption").all_text_contents()

    def shows(self, *captions: str) -> None:
        """Assert that these are the captions of the first figures, now or very soon."""
        end = time.monotonic() + 3
        while self.captions[: len(captions)] != list(captions) and time.monotonic() < end:
            self.page.wait_for_timeout(20)
        assert self.captions[: len(captions)] == list(captions)

    def ink(self, figure: int = 0) -> str:
        """All that is drawn in a figure, as its SVG."""
        layers = self.page.locator(".live-figure").nth(figure).locator(".main-svg")
        return "".join(layers.evaluate_all("(layers) => layers.map((svg) => svg.innerHTML)"))

    @property
    def query(self) -> dict[str, str]:
        """The query of the address; a repeated name would be lost, so there must be none."""
        pairs = parse_qsl(urlsplit(self.url).query, keep_blank_values=True)
        assert len(pairs) == len(dict(pairs))
        return dict(pairs)

    @property
    def url(self) -> str:
        return self.page.evaluate("location.href")  # page.url hears of changes later

    @property
    def alarms(self) -> list[str]:
        """What Streamlit shows in place of a page or an element that failed."""
        return self.page.locator(".stException, [data-testid='stAppError']").all_text_contents()

    def presets(self):
        """Buttons and links that lead to a state of the first figure."""
        first = self.page.locator("[class*='st-key-presets-']").first
        return first.locator("button, a").filter(has_not_text="Reset")

    def state(self, lesson) -> dict[str, str]:
        """What the address says on the parameters of a page's first figure."""
        return {row.key: self.query[row.key] for row in lesson.rows if row.key in self.query}

    def plot_widths(self) -> list[float]:
        return self.page.locator(".live-figure .main-svg:first-child").evaluate_all(
            "(plots) => plots.map((plot) => plot.getBoundingClientRect().width)"
        )

    def panels_stacked(self) -> bool:
        """Whether no two panels of the first figure stand side by side."""
        layout = "document.querySelector('.live-figure .js-plotly-plot').layout"
        domains = self.page.evaluate(
            f"""Object.entries({layout}).filter(([key]) => /^yaxis/.test(key))
              .map(([, axis]) => axis.domain ?? [0, 1])"""
        )
        ordered = sorted(domains)
        return all(one[1] <= other[0] for one, other in pairwise(ordered))

    def papers(self) -> set[str]:
        """The colours behind the page and behind its charts."""
        return set(
            self.page.evaluate(
                """[getComputedStyle(document.querySelector('.stApp')).backgroundColor,
                  ...[...document.querySelectorAll('.live-figure .main-svg:first-child')]
                    .map((plot) => getComputedStyle(plot).backgroundColor)]"""
            )
        )

    def width_overrun(self) -> dict[str, int]:
        """How far anything that can scroll sideways as a page reaches beyond the screen."""
        return self.page.evaluate(
            """() => Object.fromEntries(
              [document.documentElement, document.body,
               ...document.querySelectorAll('.stApp, .stMain, [data-testid="stMain"]')]
              .map((e) => [e.tagName + '.' + (e.dataset.testid ?? ''), e.scrollWidth - innerWidth])
              .filter(([, overrun]) => overrun > 0))"""
        )


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("server") / "log.txt")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        try:
            path = find.find(playwright.chromium)
        except find.NoBrowserError as problem:
            pytest.fail(f"{problem}. 'python -m tests' gets a browser.", pytrace=False)
        browser = find.launch(playwright.chromium, path)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def seat(browser, server):
    """Seat a reader before a screen; who leaves must have met no error, and no other host."""
    context = browser.new_context()  # one for all, whose cache a reader finds filled

    @contextmanager
    def seated(at=server, *, viewport=None, **media):
        page = context.new_page()
        page.set_viewport_size(viewport or {"width": 1280, "height": 720})
        page.emulate_media(**media)
        reader = Reader(page, at)
        try:
            yield reader
            reader.assert_quiet()
        finally:
            context.set_offline(False)
            if page.url.startswith("http"):
                page.evaluate("localStorage.clear()")
            page.close()

    yield seated
    context.close()


@pytest.fixture
def read(seat, server):
    """Seat readers who leave after the test."""
    with ExitStack() as seats:

        def start(at=server, **screen):
            return seats.enter_context(seat(at, **screen))

        yield start


@pytest.fixture
def reader(read):
    """A reader at a screen of 1280 x 720 in the light theme, who has seen nothing yet."""
    return read()
