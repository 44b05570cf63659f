"""Measure the way from a slider's step to the new picture, all contenders in one run.

Three charts on one slider: as the lesson draws them, on a static page written by hand with the
same plotly.js, and by ``st.plotly_chart``. The rounds take turns, so that a busy machine is busy
for all of them. The static page is the floor: no server, no framework.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from sdpa.parameters import TEMPERATURE
from sdpa.views import VIEWS
from tests.browser.find import find, launch

ROOT = Path(__file__).parents[2]
APPS = Path(__file__).parent / "apps"
NAMES = ("temperature.weights", "gradients.jacobian", "gradients.pointing")

# A step is over when all three charts show something else and the browser has painted it.
WATCH = """
() => {
  const look = () => [...document.querySelectorAll('.js-plotly-plot')].map((chart) =>
    [...chart.querySelectorAll('path.js-line, .point path, path.point')]
      .map((mark) => (mark.getAttribute('d') ?? '') + (mark.getAttribute('transform') ?? ''))
      .join())
  window.steps = []
  window.arm = () => {
    const before = look()
    window.begun = null
    const start = () => (window.begun ??= performance.now())
    addEventListener('keydown', start, { capture: true, once: true })
    addEventListener('pointermove', start, { capture: true, once: true })
    const check = () => {
      const now = look()
      if (window.begun !== null && now.length === before.length &&
          now.every((chart, i) => chart && chart !== before[i])) {
        requestAnimationFrame(() => window.steps.push(performance.now() - window.begun))
      } else requestAnimationFrame(check)
    }
    requestAnimationFrame(check)
  }
}
"""


@dataclass
class Contender:
    """One way to draw the charts, and what was measured of it."""

    name: str
    url: str
    pid: int | None = None
    first_load: list[float] = field(default_factory=list)
    first_bytes: list[int] = field(default_factory=list)
    keys: list[float] = field(default_factory=list)
    drags: list[float] = field(default_factory=list)
    drag_bytes: list[int] = field(default_factory=list)
    key_bytes: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def main() -> None:
    """Run the rounds and print the table."""
    options = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    options.add_argument("--rounds", type=int, default=5, help="rounds of each contender")
    options.add_argument("--steps", type=int, default=12, help="steps of each kind in a round")
    arguments = options.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        contenders = [
            Contender("static page", stack.enter_context(static_page(folder))),
            Contender("live figure", *stack.enter_context(streamlit(folder, "live"))),
            Contender("st.plotly_chart", *stack.enter_context(streamlit(folder, "plotly_chart"))),
        ]
        playwright = stack.enter_context(sync_playwright())
        browser = launch(playwright.chromium, find(playwright.chromium))
        for _ in range(arguments.rounds):
            for contender in contenders:
                measure(contender, browser, arguments.steps)
        browser.close()
    report(contenders)


@contextmanager
def static_page(folder: Path) -> Iterator[str]:
    """Write the page with all frames in it, and serve it."""
    views = [
        [
            {"data": figure["data"], "layout": figure["layout"], "text": view.caption}
            for view in (VIEWS[name](temperature=value) for value in TEMPERATURE.values)
            for figure in [json.loads(view.figure.to_json())]
        ]
        for name in NAMES
    ]
    frames = {"index": TEMPERATURE.values.index(TEMPERATURE.default), "views": views}
    page = (APPS / "static.html").read_text().replace("FRAMES", json.dumps(frames))
    place = folder / "page"
    place.mkdir()
    (place / "index.html").write_text(page)
    shutil.copy(ROOT / "static" / "plotly-cartesian.min.js", place)
    handler = functools.partial(QuietHandler, directory=str(place))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_: object) -> None:
        """Drop the line."""


@contextmanager
def streamlit(folder: Path, name: str) -> Iterator[tuple[str, int]]:
    """Run one of the apps with the lesson's own settings and static files."""
    place = folder / name
    place.mkdir()
    shutil.copy(APPS / f"{name}.py", place / "app.py")
    shutil.copytree(ROOT / ".streamlit", place / ".streamlit")
    shutil.copytree(ROOT / "static", place / "static")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless=true",
               "--server.address=127.0.0.1", f"--server.port={port}"]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, cwd=place, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}/"
    try:
        wait_for(url + "_stcore/health")
        yield url, process.pid
    finally:
        process.terminate()
        process.wait()


def wait_for(url: str, patience: float = 30.0) -> None:
    """Wait until an address answers."""
    end = time.monotonic() + patience
    while True:
        try:
            urllib.request.urlopen(url, timeout=1).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        else:
            return


def measure(contender: Contender, browser: Browser, steps: int) -> None:
    """One round: a fresh visit, key presses, and a drag."""
    context = browser.new_context(viewport={"width": 1280, "height": 1400})
    page = context.new_page()
    traffic = Traffic(page)
    begun = time.perf_counter()
    page.goto(contender.url)
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot .main-svg').length >= 3")
    contender.first_load.append(time.perf_counter() - begun)
    page.wait_for_timeout(1500)
    contender.first_bytes.append(traffic.take())
    page.evaluate(WATCH)
    slider = page.locator("input[type=range]")
    slider.focus()
    for _ in range(8):  # to one end, which also warms every cache
        page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(120)
    page.wait_for_timeout(500)
    traffic.take()

    spent = cpu_seconds(contender.pid)
    for step in range(steps):
        key = "ArrowRight" if step < steps / 2 else "ArrowLeft"
        contender.keys.append(step_time(page, lambda: page.keyboard.press(key)))  # noqa: B023
        page.wait_for_timeout(250)
    contender.cpu.append((cpu_seconds(contender.pid) - spent) / steps)
    contender.key_bytes.append(traffic.take() / steps)

    if contender.name != "st.plotly_chart":  # its charts do not follow a drag at all
        drag(contender, page, traffic, steps)
    context.close()


def drag(contender: Contender, page: Page, traffic: Traffic, steps: int) -> None:
    """Drag the thumb step by step, and time each."""
    slider = page.locator("input[type=range]")
    if contender.pid is None:
        box = slider.bounding_box()
        left, width = box["x"] + 8, box["width"] - 16
        y = box["y"] + box["height"] / 2
        places = [left + width * i / (len(TEMPERATURE.values) - 1) for i in range(15)]
    else:
        track = page.locator("[data-testid=stSlider] [role=group] > div").first.bounding_box()
        y = track["y"] + track["height"] / 2
        places = [track["x"] + track["width"] * i / 14 for i in range(15)]
    here = int(slider.input_value())
    page.mouse.move(places[here], y)
    page.mouse.down()
    page.wait_for_timeout(200)
    traffic.take()
    for step in range(min(steps, 14 - here)):
        there = places[here + step + 1]
        contender.drags.append(step_time(page, lambda: page.mouse.move(there, y)))  # noqa: B023
        page.wait_for_timeout(80)
    contender.drag_bytes.append(traffic.take())
    page.mouse.up()


def step_time(page: Page, act: object) -> float:
    """Time from the event to the painted picture, in milliseconds."""
    page.evaluate("window.steps.length = 0; window.arm()")
    act()
    page.wait_for_function("window.steps.length > 0", timeout=10_000)
    return float(page.evaluate("window.steps[0]"))


class Traffic:
    """Counts what the browser receives and sends, WebSocket included."""

    def __init__(self, page: Page) -> None:
        self.bytes = 0
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", lambda e: self.add(e["encodedDataLength"]))
        for way in ("Received", "Sent"):
            session.on(
                f"Network.webSocketFrame{way}",
                lambda e: self.add(payload_length(e["response"])),
            )

    def add(self, length: float) -> None:
        """Count."""
        self.bytes += int(length)

    def take(self) -> int:
        """Give the count and begin anew."""
        taken, self.bytes = self.bytes, 0
        return taken


def payload_length(frame: dict[str, object]) -> int:
    """Bytes of a WebSocket frame; binary ones are given as base64."""
    data = str(frame["payloadData"])
    return len(data) * 3 // 4 if frame["opcode"] == 2 else len(data)


def cpu_seconds(pid: int | None) -> float:
    """Processor time of a process so far, where the system tells (Linux)."""
    stat = Path(f"/proc/{pid}/stat")
    if pid is None or not stat.exists():
        return float("nan")
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(contenders: list[Contender]) -> None:
    """Print what was measured, and each against the static page."""
    floor = contenders[0]
    line = "{:<17}{:>10}{:>10}{:>7}{:>10}{:>10}{:>7}{:>11}{:>11}{:>9}{:>9}{:>9}"
    print(line.format("", "key p50", "key p95", "×", "drag p50", "drag p95", "×", "B / key",
                      "B / drag", "CPU ms", "load s", "load MB"))  # fmt: skip
    for one in contenders:
        keys, drags = one.keys, one.drags or [float("nan")]
        print(
            line.format(
                one.name,
                f"{median(keys):.0f}",
                f"{high(keys):.0f}",
                f"{median(keys) / median(floor.keys):.2f}",
                f"{median(drags):.0f}",
                f"{high(drags):.0f}",
                f"{median(drags) / median(floor.drags):.2f}",
                f"{median(one.key_bytes):,.0f}",
                f"{max(one.drag_bytes):,.0f}" if one.drag_bytes else "none",
                f"{1000 * median(one.cpu):.1f}",
                f"{median(one.first_load):.2f}",
                f"{median(one.first_bytes) / 1e6:.2f}",
            )
        )
    print("Times in milliseconds from the event to the painted picture of three charts.")


median = statistics.median


def high(values: list[float]) -> float:
    """Give the 95th percentile."""
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


if __name__ == "__main__":
    main()
