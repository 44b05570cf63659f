"""Find a browser that starts, or get one."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import BrowserType, Error

VARIABLE = "LESSON_BROWSER"  # names a browser's program; it is then the only one tried
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_NAMES = [
    "chromium-headless-shell",  # draws the same with a fifth less work
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "microsoft-edge-stable",
    "msedge",
]
_MAC = [
    f"{name}.app/Contents/MacOS/{name}" for name in ("Google Chrome", "Chromium", "Microsoft Edge")
]
_WINDOWS = [
    "Google/Chrome/Application/chrome.exe",
    "Chromium/Application/chrome.exe",
    "Microsoft/Edge/Application/msedge.exe",
]
_LINUX = ["/opt/google/chrome/chrome", "/opt/microsoft/msedge/msedge", "/snap/bin/chromium"]


class NoBrowserError(LookupError):
    """No browser starts; says which were tried."""


def candidates(downloaded: str) -> list[str]:
    """List browsers that may be here, first Playwright's own download."""
    names = [found for name in _NAMES if (found := shutil.which(name))]
    folders = {
        "darwin": (["/Applications", str(Path.home() / "Applications")], _MAC),
        "win32": (
            [os.environ.get(v, "") for v in ("ProgramFiles", "ProgramFiles(x86)", "LocalAppData")],
            _WINDOWS,
        ),
    }
    roots, places = folders.get(sys.platform, (["/"], _LINUX))
    usual = [str(Path(root, place)) for root in roots if root for place in places]
    listed = [downloaded, *names, *usual]
    return [path for path in dict.fromkeys(listed) if Path(path).is_file()]


def find(chromium: BrowserType) -> str:
    """Find a browser by starting those that are here, one after the other.

    Raises
    ------
    NoBrowserError
        If none starts, with what each of them said.
    """
    named = os.environ.get(VARIABLE)
    tried = []
    for path in [named] if named else candidates(chromium.executable_path):
        try:
            launch(chromium, path).close()
        except Error as problem:
            tried.append(f"{path} ({problem.message.strip().splitlines()[0]})")
        else:
            return path
    if named:
        raise NoBrowserError(f"The browser that {VARIABLE} names doesn't start: {tried[0]}")
    raise NoBrowserError(f"None of these browsers starts: {', '.join(tried) or 'none is here'}")


def launch(chromium: BrowserType, path: str):
    """Start a browser and see that it opens a page."""
    browser = chromium.launch(executable_path=path, args=FLAGS, timeout=30_000)
    try:
        page = browser.new_page()
        page.set_content("<title>here</title>")
        if page.title() != "here":
            raise Error("it opens no page")
        page.close()
    except Error:
        browser.close()
        raise
    return browser


def get(chromium: BrowserType) -> str:
    """Download Playwright's browser, else install the system's where that can be done.

    Raises
    ------
    NoBrowserError
        If neither gives a browser that starts.
    """
    reasons = []
    ways = [[([sys.executable, "-m", "playwright", "install", "chromium"], 120)]]
    if shutil.which("apt-get") and os.geteuid() == 0:
        install = ["apt-get", "install", "-y"]
        ways.append([(["apt-get", "update"], 300), ([*install, "chromium-headless-shell"], 900)])
        ways.append([([*install, "chromium"], 900)])  # where there is no such package
    for commands in ways:
        for command, seconds in commands:
            print("No browser yet:", " ".join(command), flush=True)
            if problem := _run(command, seconds):
                reasons.append(problem)
        try:
            return find(chromium)
        except NoBrowserError as problem:
            reasons.append(str(problem))
    raise NoBrowserError(
        "The pages can't be tested, as no browser could be found or fetched. Install Chromium, "
        f"Chrome or Edge, or name one in {VARIABLE}. " + "; ".join(reasons) + "."
    )


def _run(command: list[str], seconds: float) -> str:
    """Run a command with all that it starts, for so long at most; say what went wrong."""
    process = subprocess.Popen(
        command,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # a group of its own, so that it ends as a whole
    )
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"'{' '.join(command)}' took more than {seconds} s"
    return f"'{' '.join(command)}' ended with {code}" if code else ""
