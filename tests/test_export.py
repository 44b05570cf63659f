"""``python -m sdpa.export``: what it writes, and what it says when it can't."""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qsl

import pandas as pd
import pytest

from sdpa.export import command, files, picture
from sdpa.export.command import FAILED, FORMATS, WRONG, main
from sdpa.views import VIEWS
from sdpa.views.code import code
from sdpa.views.naming import LONGEST_LINE, query, state_line, stem
from sdpa.views.view import ViewSpec

ROOT = Path(__file__).parents[1]
MANY = ", ".join(f"{step / 7:.4f}" for step in range(64))


@pytest.fixture
def run(tmp_path, capsys):
    """Run the command line into an empty folder: its exit code, and what it says and writes."""

    def run(*arguments):
        code = main([*arguments, "--out", str(tmp_path / "out")])
        said = capsys.readouterr()
        out = tmp_path / "out"
        written = {path.name: path for path in out.iterdir()} if out.exists() else {}
        return code, said, written

    return run


@pytest.fixture
def no_pictures(monkeypatch):
    """Stand in a computer that has no Kaleido."""
    found = picture.importlib.util.find_spec
    monkeypatch.setattr(
        picture.importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "kaleido" else found(name, *rest),
    )


# --- what it writes ---


@pytest.mark.parametrize("arguments", [[], ["list"]])
def test_the_list_names_every_view_with_what_it_shows_and_what_can_be_set(capsys, arguments):
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line for line in lines if not line.startswith(" ")]
    assert names == list(VIEWS)
    assert lines[lines.index("chain.chain") + 1].strip().endswith(".")
    assert lines[lines.index("chain.chain") + 2].split()[:2] == [
        "--set",
        "d_k=4|8|16|32|64|128|256|512|1024",
    ]


@pytest.mark.parametrize("name", VIEWS)
def test_the_data_are_the_view_s_table(run, name):
    code, _, written = run(name, "--format", "csv")
    assert code == 0
    table = VIEWS[name]().table
    again = pd.read_csv(written[f"{name}.csv"], keep_default_na=False, na_values=["", "nan"])
    pd.testing.assert_frame_equal(again, table, check_dtype=False, rtol=1e-15)


def test_the_state_that_is_set_is_in_data_code_page_and_name(run):
    state = {"temperature": 1.0, "scores": "20, 10, 0"}
    settings = ["--set", "temperature=1", "--set", "scores=20, 10, 0"]
    code_, said, written = run("temperature.weights", *settings, "--format", "csv,py,html")
    view = VIEWS["temperature.weights"](**state)
    name = "temperature.weights_temperature=1_scores=20-10-0"
    assert code_ == 0
    assert written.keys() == {f"{name}.csv", f"{name}.py", f"{name}.html"}
    assert written[f"{name}.py"].read_text(encoding="utf-8") == code(view)
    assert pd.read_csv(written[f"{name}.csv"])["score s"].tolist() == [20, 10, 0]
    assert view.caption in written[f"{name}.html"].read_text(encoding="utf-8")
    assert said.err.splitlines()[:3] == [
        f"[{place}/3] {name}.{format}" for place, format in enumerate(("csv", "py", "html"), 1)
    ]
    assert said.out == ""


def test_what_is_set_goes_to_those_views_that_have_it(run):
    code, _, written = run(
        "chain.chain", "overflow.masks", "chain.chain", "--set", "d_k=4", "--format", "csv"
    )
    assert code == 0
    assert sorted(written) == ["chain.chain_d_k=4.csv", "overflow.masks.csv"]


def test_all_views_are_written_at_once(run):
    code, _, written = run("--all", "--format", "py")
    assert code == 0
    assert sorted(written) == sorted(f"{name}.py" for name in VIEWS)


def test_a_long_state_gives_a_name_that_every_disk_takes():
    one, other = (VIEWS["temperature.weights"](scores=f"{MANY[:-1]}{end}") for end in "12")
    assert len(stem(one)) < 120
    assert stem(one) != stem(other)
    assert re.fullmatch(r"[-\w.=+]+", stem(one))
    assert re.fullmatch(r"[-\w.=+·√]+", stem(VIEWS["alternatives.rules"](rule="divide by √dₖ")))


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("temperature.weights", {"scores": "0.5, 8", "temperature": 0.25}),
        ("alternatives.rules", {"rule": "softcap without √dₖ"}),
        ("dot_product.sum", {"cell": "q3·k4"}),
    ],
)
def test_a_link_restores_the_state(name, state):
    view = VIEWS[name](**state)
    named = dict(parse_qsl(query(view).removeprefix("?")))
    assert named.keys() == state.keys()  # what is a default stays out
    assert VIEWS[name](**named).state == view.state


# --- what it says when it can't ---

WRONGS = {
    "an unknown view": (
        ["chain.chian"],
        [f"{len(VIEWS)} names", "'chain.chian'", "chain.chain"],
    ),
    "a page's name": (
        ["temperature"],
        ["temperature.weights", "temperature.divisors"],
    ),
    "nothing like a view": (
        ["zzz"],
        ["'zzz'"],
    ),
    "an unknown parameter": (
        ["chain.chain", "--set", "dk=4"],
        ["takes d_k", "'dk'", "nearest: d_k"],
    ),
    "none to set": (
        ["overflow.masks", "--set", "d_k=4"],
        ["no parameter", "'d_k'"],
    ),
    "of several views": (
        ["chain.chain", "gradients.gap", "--set", "gp=1"],
        ["These views take d_k, gap"],
    ),
    "a value between": (
        ["chain.chain", "--set", "d_k=300"],
        ["4, 8, 16", "'300'", "256 and 512"],
    ),
    "a value beyond": (
        ["chain.chain", "--set", "d_k=5000"],
        ["'5000'", "nearest: 1024"],
    ),
    "no number": (
        ["chain.chain", "--set", "d_k=nan"],
        ["'nan'"],
    ),
    "a misspelt value": (
        ["overflow.steps", "--set", "format=flaot16"],
        ["nearest: float16"],
    ),
    "a misspelt score": (
        ["temperature.weights", "--set", "scores=8, x"],
        ["scores", "'x' as number 2"],
    ),
    "no value": (
        ["chain.chain", "--set", "d_k"],
        ["KEY=VALUE", "'d_k'"],
    ),
    "a value twice": (
        ["chain.chain", "--set", "d_k=4", "--set", "d_k=8"],
        ["d_k", "twice"],
    ),
    "a value for nothing": (
        ["--set", "d_k=4"],
        ["needs a view"],
    ),
    "a value for the handout": (
        ["--handout", "--set", "d_k=4"],
        ["those of the lecture"],
    ),
    "an unknown format": (
        ["chain.chain", "--format", "csv,pgn"],
        ["png, svg", "'pgn'", "nearest: png"],
    ),
    "an empty format": (
        ["chain.chain", "--format", "csv,"],
        ["--format", "''"],
    ),
    "an unknown theme": (
        ["chain.chain", "--theme", "drak"],
        ["light, dark", "'drak'", "nearest: dark"],
    ),
    "a size of one number": (
        ["chain.chain", "--size", "1920"],
        ["WIDTHxHEIGHT", "'1920'"],
    ),
    "too small a size": (
        ["chain.chain", "--size", "1920x100"],
        ["320", "'1920x100'"],
    ),
    "too large a size": (
        ["chain.chain", "--size", "99999x1080"],
        ["7680"],
    ),
    "no address": (
        ["--handout", "--app-url", "lesson"],
        ["--app-url", "'lesson'"],
    ),
    "a script for an address": (
        ["--handout", "--app-url", "javascript://lesson/"],
        ["--app-url"],
    ),
    "all and one": (
        ["--all", "chain.chain"],
        ["Either", "chain.chain"],
    ),
    "list and one": (
        ["list", "chain.chain"],
        ["list stands alone"],
    ),
    "an unknown option": (
        ["chain.chain", "--fromat", "png"],
        ["--fromat"],
    ),
}


@pytest.mark.parametrize(("arguments", "told"), WRONGS.values(), ids=WRONGS)
def test_a_wrong_request_writes_nothing_and_says_so_in_one_sentence(run, arguments, told):
    if "--format" not in arguments:
        arguments = [*arguments, "--format", "csv"]
    code, said, written = run(*arguments)
    assert code == WRONG
    assert written == {}
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert all(words in said.err for words in told), said.err


def test_a_file_in_the_folder_s_place_is_left_alone(tmp_path, capsys):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    assert main(["chain.chain", "--format", "csv", "--out", str(taken)]) == WRONG
    assert main(["chain.chain", "--format", "csv", "--out", str(taken / "in")]) == FAILED
    assert len(capsys.readouterr().err.splitlines()) == 2
    assert taken.read_text() == "mine"


def test_without_kaleido_all_but_pictures_is_written(run, no_pictures):
    code, said, written = run("overflow.masks", "--format", "png,csv,py,html,svg")
    assert code == FAILED
    assert sorted(written) == ["overflow.masks.csv", "overflow.masks.html", "overflow.masks.py"]
    assert said.err.splitlines()[-1] == picture.INSTALL
    assert said.err.count(picture.INSTALL) == 1


def test_without_kaleido_pictures_alone_write_nothing(run, no_pictures):
    code, said, written = run("overflow.masks")
    assert (code, written, said.err.splitlines()) == (FAILED, {}, [picture.INSTALL])


def test_without_a_browser_it_says_the_same(run, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", str(ROOT / "no browser"))
    code, said, written = run("overflow.masks", "--format", "pdf,csv")
    assert code == FAILED
    assert list(written) == ["overflow.masks.csv"]
    assert said.err.splitlines()[-1] == picture.INSTALL


def test_a_browser_that_does_not_start_is_named_as_the_cause(run, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", sys.executable)  # Python, which knows no such options
    code, said, written = run("overflow.masks", "--format", "png,csv")
    assert code == FAILED
    assert list(written) == ["overflow.masks.csv"]
    assert said.err.splitlines()[-1] == f"{picture.FAILING} {picture.INSTALL}"


# --- whole or not at all ---


def test_what_stops_a_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "figure.csv"
    files.write(path, b"old")

    def full(self, content):
        with self.open("wb") as file:
            file.write(content[:2])
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        files.write(path, b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["figure.csv"]
    assert path.read_bytes() == b"old"


def test_who_stops_it_is_told_that_files_are_whole(run, monkeypatch):
    first, *_ = VIEWS

    def stopping(view):
        if view.name != first:
            raise KeyboardInterrupt
        return code(view)

    monkeypatch.setattr(command, "code", stopping)
    code_, said, written = run("--all", "--format", "py")
    assert code_ == command.STOPPED
    assert list(written) == [f"{first}.py"]
    assert "whole" in said.err


def test_a_view_is_drawn_in_its_state_before_the_first_file_is_written(run, monkeypatch):
    drawn = []
    called = ViewSpec.__call__

    def counting(self, **state):
        drawn.append(self.name)
        return called(self, **state)

    monkeypatch.setattr(ViewSpec, "__call__", counting)
    monkeypatch.setattr(command, "write", lambda *_: drawn.append("written"))
    run("chain.chain", "gradients.gap", "--format", "csv")
    assert drawn == ["chain.chain", "gradients.gap", "written", "written"]


def test_it_runs_as_a_module_without_streamlit():
    code = (
        "import runpy, sys\nsys.argv[1:] = ['list']\n"
        "try:\n    runpy.run_module('sdpa.export', run_name='__main__')\n"
        "except SystemExit as ended:\n    assert ended.code == 0\n"
        "assert 'streamlit' not in sys.modules\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
    assert ran.returncode == 0, ran.stderr
    assert b"chain.chain" in ran.stdout


def test_a_console_without_the_letters_still_shows_the_list():
    ran = subprocess.run(
        [sys.executable, "-m", "sdpa.export"],
        cwd=ROOT,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert ran.returncode == 0, ran.stderr
    assert b"divide by 1|divide by ?d?" in ran.stdout


# --- pictures, before they are drawn ---


@pytest.mark.parametrize(
    ("size", "enlarged"),
    [((1920, 1080), 2.25), ((3840, 2160), 4.5), ((800, 600), 1), ((320, 320), 0.5)],
)
def test_a_picture_is_laid_out_as_on_screen_and_enlarged(size, enlarged):
    assert picture.Size(*size).enlarged == pytest.approx(enlarged, rel=1e-3)


def texts(figure):
    """Every font size in a figure's layout and traces."""

    def walk(item):
        if isinstance(item, dict):
            for key, inner in item.items():
                if key in ("font", "tickfont", "textfont") and "size" in inner:
                    yield inner["size"]
                yield from walk(inner)
        elif isinstance(item, (list, tuple)):
            for inner in item:
                yield from walk(inner)

    return list(walk(figure.to_plotly_json()))


@pytest.mark.parametrize("name", VIEWS)
def test_every_text_on_a_slide_is_18_px_or_more_and_its_font_is_named(name):
    size = picture.Size(1920, 1080)
    figure = picture.figure(VIEWS[name](), size, "light", True)
    assert min(texts(figure)) * size.enlarged >= 18
    assert figure.layout.font.family == "Arial, Helvetica, sans-serif"
    assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == "#FDFCF9"


def test_the_small_print_is_the_state_and_can_be_left_out():
    view = VIEWS["chain.chain"](d_k=256)
    size = picture.Size(1920, 1080)
    said = picture.figure(view, size, "dark", True)
    assert said.layout.title.text == "chain.chain · d_k = 256 · ?d_k=256"
    assert said.layout.paper_bgcolor == "#15181D"
    assert picture.figure(view, size, "dark", False).layout.title.text is None
    assert len(state_line(VIEWS["temperature.weights"](scores=MANY))) == LONGEST_LINE


def test_a_pdf_that_is_built_in_another_way_stays_as_it_is():
    assert picture.unframed(b"%PDF-2.0 other", picture.Size(800, 600)) == b"%PDF-2.0 other"


def test_every_format_is_named_in_the_help(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert ",".join(FORMATS) in capsys.readouterr().out
