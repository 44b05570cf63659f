"""Pages in one file and the handout, as far as their text goes; the rest is seen in a browser."""

import json
import math
import re
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlsplit

import pytest

from sdpa.export import formula
from sdpa.export.command import FAILED, main
from sdpa.export.formula import html
from sdpa.export.handout import handout
from sdpa.export.lecture import CHECK_PAGE, MINUTES, STEPS
from sdpa.export.page import MOST_STATES, page
from sdpa.ui.frame import PAGES
from sdpa.views import VIEWS

APP = "https://lesson.example.org/a"


class Reading(HTMLParser):
    """The tags, the links and the blocks' data of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.addresses, self.data = [], [], [], []
        self.in_data = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append(tag)
        if tag == "a":
            self.links.append(given["href"])
        self.addresses += [given[key] for key in ("src", "href", "data") if key in given]
        self.in_data = given.get("type") == "application/json"

    def handle_data(self, text):
        if self.in_data:
            assert "<" not in text  # it could end the script
            self.data.append(json.loads(text, parse_constant=pytest.fail))
            self.in_data = False


@pytest.fixture(scope="module")
def written():
    return handout(f"{APP}/")


@pytest.mark.parametrize("name", VIEWS)
def test_a_page_holds_every_state_that_its_sliders_reach_and_asks_for_nothing_else(name):
    spec = VIEWS[name]
    reading = Reading(page(spec()))
    assert reading.addresses == []
    assert not {"link", "iframe", "img", "object"} & set(reading.tags)
    (data,) = reading.data
    rows = [spec.swept[slider["key"].removeprefix("figure-")] for slider in data["sliders"]]
    assert len(rows) >= min(len(spec.swept), 1)
    for slider, row in zip(data["sliders"], rows, strict=True):
        assert slider["texts"] == [row.text(value) for value in row.values]
        assert row.values[slider["index"]] == row.default
    count = math.prod(len(row.values) for row in rows)
    assert count == len(data["frames"]) <= MOST_STATES
    for place in {0, count // 3, count - 1}:
        state, rest = {}, place
        for row in reversed(rows):
            rest, index = divmod(rest, len(row.values))
            state[row.key] = row.values[index]
        assert data["frames"][place]["caption"] == spec(**state).caption


def test_a_slider_beyond_the_states_that_fit_is_held_and_said_to_be():
    text = page(VIEWS["dot_product.plane"](length_k=2.5))
    (data,) = Reading(text).data
    assert [slider["key"] for slider in data["sliders"]] == ["figure-angle", "figure-length_q"]
    assert "Length of k: 2.5" in text


def test_a_page_is_escaped_and_keeps_its_theme():
    text = page(VIEWS["chain.chain"](), "dark")
    assert "prefers-color-scheme: dark) {" not in text
    assert "color-scheme: dark" in text
    assert text.count("</script>") == 3
    followed = page(VIEWS["chain.chain"]())
    assert "@media screen and (prefers-color-scheme: dark)" in followed


# --- formulas ---


@pytest.mark.parametrize("name", [name for name, spec in VIEWS.items() if spec().formula])
def test_every_formula_becomes_mathml_without_a_rest_of_latex(name):
    for state in ({}, {row.key: row.values[-1] for row in VIEWS[name].parameters if row.values}):
        latex = VIEWS[name](**state).formula
        written = html(latex)
        assert written.count("<math") == len(latex.split(r"\qquad"))
        assert "\\" not in written
        assert "<mi>&</mi>" not in written
        assert "merror" not in written


@pytest.mark.parametrize(
    ("latex", "parts"),
    [
        (r"\operatorname{softmax}\!\left(x\right)", ["softmax</mi><mrow><mo"]),
        (r"\operatorname{E}[q]", ["E</mi><mo"]),
        (r"\operatorname{Var} s", ['Var</mi><mspace width="0.17em" /><mi>s']),
        (r"\ln 10", ['ln</mi><mspace width="0.17em" /><mn>10']),
        (r"\max_j s_j", ["max</mi><mi>j</mi></msub><mspace"]),
        (r"\log_2(n)", ["log</mi><mn>2</mn></msub><mo"]),
        (r"\overline{x y}", ['<mrow style="border-top: ']),
        (r"\begin{aligned}a &= b\end{aligned}", ["text-align: right", "text-align: left"]),
    ],
)
def test_formulas_are_mended_where_browsers_set_them_otherwise(latex, parts):
    written = html(latex)
    assert all(part in written for part in parts), written


def test_without_its_library_a_formula_is_shown_as_it_is_written(monkeypatch):
    monkeypatch.setattr(formula.importlib.util, "find_spec", lambda _: None)
    assert html(r"a < b") == "<code>a &lt; b</code>"


# --- the handout ---


def test_the_handout_fits_a_message_and_asks_for_nothing_outside(written):
    assert len(written.encode()) <= 6_000_000
    reading = Reading(written)
    assert reading.addresses == reading.links
    assert len(reading.data) == len(STEPS)
    assert "default-src 'none'" in written


def test_the_handout_has_every_step_with_claim_formula_words_and_answer(written):
    for step in STEPS:
        view = step.drawn()
        for text in (step.title, step.claim, *step.say, step.ask, step.answer(view), view.caption):
            assert text.replace("'", "&#x27;") in written
    assert written.count("<math") >= len(STEPS)


def test_its_links_lead_into_the_app_at_states_that_are_there(written):
    pages = {f"/a/{page.url_path}" for page in PAGES}
    links = [urlsplit(link) for link in Reading(written).links]
    assert all(link.netloc == "lesson.example.org" and link.path in pages for link in links)
    wanted = [state for step in STEPS for state in (step.state, *step.presets.values())]
    assert len(links) == len(wanted) + 1
    views = [step for step in STEPS for _ in range(1 + len(step.presets))]
    for link, step, state in zip(links, views, wanted, strict=False):
        assert step.drawn(dict(parse_qsl(link.query))).state == step.drawn(state).state


def test_the_lecture_is_fifty_minutes_along_the_chain():
    assert MINUTES == 50
    pages = [step.page for step in STEPS]
    order = ["dot-product", "variance", "temperature", "gradients", "", "overflow", "attention"]
    assert list(dict.fromkeys(pages))[:7] == order
    assert {*pages, CHECK_PAGE} <= {page.url_path for page in PAGES}


def test_answers_are_computed_and_plain():
    for step in STEPS:
        answer = step.answer(step.drawn())
        assert answer.endswith(".")
        assert not re.search(r"[{}$*\\]|nan", answer)


def test_what_the_lecture_claims_in_words_holds():
    gap = VIEWS["gradients.gap"]
    slopes = [gap(gap=float(step)).numbers["slope"] for step in (8, 9, 10)]
    assert slopes[1] / slopes[0] == pytest.approx(1 / 3, abs=0.04)  # "about a third"
    ratio = slopes[0] / 0.25
    assert min((0.1, 0.001, 1e-6), key=lambda x: abs(math.log(x / ratio))) == 0.001
    rows = VIEWS["gradients.rows"]
    assert (
        rows(d_k=256).numbers["median, not divided"]
        < 0.1 * rows(d_k=256).numbers["median, divided"]
    )
    assert rows(d_k=4).numbers["median, not divided"] > rows(d_k=4).numbers["median, divided"]
    chain = VIEWS["chain.chain"]
    tops = [chain(d_k=d).numbers["top weight divided"] for d in (4, 256, 1024)]
    assert tops == pytest.approx([tops[0]] * 3)
    loss = VIEWS["training.loss"]
    steps = loss(d_k=4).numbers
    assert steps["steps by 1"] < steps["steps by √d_k"]  # the faster one at d_k = 4
    for width in (64, 256, 1024):
        assert loss(d_k=width).numbers["accuracy by √d_k"] == 1
        assert loss(d_k=width).numbers["accuracy by 1"] < 0.5


def test_without_its_library_there_is_no_handout(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(formula.importlib.util, "find_spec", lambda _: None)
    assert main(["--handout", "--out", str(tmp_path / "out")]) == FAILED
    assert capsys.readouterr().err.strip() == formula.INSTALL
    assert not (tmp_path / "out").exists()


def test_the_handout_is_written_with_views_or_alone(tmp_path):
    arguments = ["overflow.masks", "--format", "csv", "--handout", "--app-url", APP]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "handout.html",
        "overflow.masks.csv",
    ]
