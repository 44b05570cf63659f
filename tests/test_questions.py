import ast
import math
import re

import numpy as np
import pytest

from sdpa.parameters import D_K
from sdpa.training import train_lookup
from sdpa.ui.frame import PAGES, ROOT
from sdpa.views import VIEWS
from sdpa.views.questions import QUESTIONS, Choice, Number

BY_NAME = {question.name: question for question in QUESTIONS}
EVERY = pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
BY_NUMBER = [question for question in QUESTIONS if isinstance(question.reply, Number)]
BY_CHOICE = [question for question in QUESTIONS if isinstance(question.reply, Choice)]


def softmax(scores):
    shares = [math.exp(score - max(scores)) for score in scores]
    return np.array(shares) / sum(shares)


def random_rows(d_k, keys, rows, seed=0):
    """Scores of fresh q and k, drawn here as products."""
    rng = np.random.default_rng(seed)
    q, k = rng.standard_normal((rows, d_k)), rng.standard_normal((rows, keys, d_k))
    return np.einsum("rd,rkd->rk", q, k)


def softmax_rows(scores):
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def numbers(name, **state):
    return VIEWS[name](**state).numbers


def test_there_are_at_least_twelve_questions_and_four_by_number_each_with_its_own_name():
    assert len(QUESTIONS) >= 12
    assert len(BY_NUMBER) >= 4
    assert len(BY_NAME) == len(QUESTIONS)
    assert len({question.topic for question in QUESTIONS}) == len(QUESTIONS)
    assert len({question.prompt for question in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("question", BY_CHOICE, ids=lambda question: question.name)
def test_of_distinct_options_exactly_one_is_right(question):
    options = question.reply.options
    assert len(options) >= 3
    assert len(set(options)) == len(options)
    assert [question.is_right(option) for option in options].count(True) == 1
    assert question.is_right(question.answer)


def test_the_right_option_has_no_place_of_its_own():
    places = [question.reply.right for question in BY_CHOICE]
    assert all(3 <= places.count(place) <= len(places) / 2 for place in range(3))


@pytest.mark.parametrize("question", BY_NUMBER, ids=lambda question: question.name)
def test_a_number_is_right_up_to_its_tolerance_and_no_further(question):
    target, tolerance = question.target, question.reply.tolerance
    for sign in (-1, 1):
        assert question.is_right(target + sign * tolerance)
        assert not question.is_right(target + sign * 1.01 * tolerance)
    assert tolerance < 0.7 * target
    written = float(question.answer.removesuffix(question.reply.unit))
    assert question.is_right(written)


INDEPENDENT = {
    "spread": lambda: (math.sqrt(sum(1 for _ in range(256))), 1e-12),
    "arithmetic": lambda: (math.e / (math.e + 2), 1e-12),
    "hundred": lambda: (1 / (1 + math.exp(-1)), 1e-12),
    "which-d": lambda: (math.sqrt(512 / 8), 1e-12),
    # 20,000 fresh rows against the view's: the standard error of either is below 0.003.
    "largest-weight": lambda: (softmax_rows(random_rows(64, 16, 20_000)).max(1).mean(), 0.01),
    "learn-the-scale": lambda: (100 * trained_without_divisor(), 1e-9),
}


def trained_without_divisor():
    """The one number without another route: the training itself, asked without the view."""
    return float(train_lookup(256, 1.0, n=16, steps=200, lr=30.0).accuracy[-1].item())


@pytest.mark.parametrize("question", BY_NUMBER, ids=lambda question: question.name)
def test_the_right_number_is_found_by_another_route(question):
    value, within = INDEPENDENT[question.name]()
    assert question.target == pytest.approx(value, abs=within)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("spread", 256),
        ("arithmetic", 0.5),
        ("hundred", 0.99999),
        ("learn-the-scale", 100),
        ("which-d", math.sqrt(512)),
        ("largest-weight", 0.9997),
    ],
)
def test_the_misconception_counts_as_wrong(name, wrong):
    assert not BY_NAME[name].is_right(wrong)


# --- what is marked right is right, as far as that can be computed ---


def one_draw():
    draws = [random_rows(64, 4, 3, seed).std() for seed in range(400)]
    return np.ptp(draws) > 4 and np.mean(np.square(draws)) == pytest.approx(64, rel=0.2)


def maximum():
    row = np.array([8.0, 0.0])
    return softmax(row) == pytest.approx(softmax(row - row.max()), abs=0)


def overflow():
    fits = (np.abs(random_rows(64, 8, 20_000)) < np.log(np.finfo(np.float32).max)).all()
    tops = [softmax_rows(random_rows(d, 8, 4_000)).max(1).mean() for d in (4, 64, 1024)]
    return fits and tops == sorted(tops) and tops[-1] > 0.95


def unit_variance():
    found = [
        numbers("assumptions.spread", layer=layer, head=head)["spread"] / math.sqrt(32)
        for layer in range(6)
        for head in range(12)
    ]
    return min(found) < 0.7 and max(found) > 5


def no_divisor():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 4_000, 256))
    w_q = rng.standard_normal((256, 64)) / math.sqrt(256 * 64)  # T5's, smaller by √64
    w_k = rng.standard_normal((256, 64)) / math.sqrt(256)
    return ((x @ w_q) * (y @ w_k)).sum(1).std() == pytest.approx(1, rel=0.1)


def query_first():
    q, k = np.full(64, 40, np.float16), np.full(64, 40, np.float16)
    exact = [(x * y) / 8 for x, y in ((3, 5), (-7, 2))] == [
        (x / 8) * y for x, y in ((3, 5), (-7, 2))
    ]
    with np.errstate(over="ignore"):
        late, early = np.float16(q @ k) / np.float16(8), (q / np.float16(8)) @ k
    return exact and np.isinf(late) and early == 12_800


def temperature():
    found = [softmax(np.array([8.0, 4.0, 0.0]) / t) for t in (0.5, 1, 8, 64)]
    return all((row.argsort() == [2, 1, 0]).all() for row in found)


def mean_gradient():
    rows = random_rows(64, 8, 20_000)
    sharp, soft = (1 - (softmax_rows(rows / t) ** 2).sum(1) for t in (1, 8))
    return sharp.mean() > soft.mean() / 8


def scale_one():
    rng = np.random.default_rng(0)
    tops = {}
    for d in (16, 256):
        q, k = 3 * rng.standard_normal((4_000, 1, d)), 3 * rng.standard_normal((4_000, 8, d))
        normed = [x / np.sqrt((x**2).mean(-1, keepdims=True)) for x in (q, k)]
        carried = (normed[0] * normed[1]).sum(-1) / math.sqrt(d)  # gains carry the scale
        tops[d] = softmax_rows(carried).max(1).mean(), softmax_rows((q * k).sum(-1)).max(1).mean()
    return abs(tops[16][0] - tops[256][0]) < 0.02 and tops[256][1] > 0.9


def aligned():
    rng = np.random.default_rng(0)
    means = []
    for d in (16, 1024):
        q, noise = rng.standard_normal((2, 4_000, d))
        means.append(((0.2 * q + math.sqrt(0.96) * noise) * q).sum(1).mean() / d)
    return means == pytest.approx([0.2, 0.2], abs=0.02)


def subtract_log():
    row = np.linspace(0, 3, 50)
    return softmax(row - math.log(50)) == pytest.approx(softmax(row), abs=1e-15)


def drift():
    start = random_rows(64, 16, 4_000) / 8
    return softmax_rows(16 * start).max(1).mean() > 0.9 > softmax_rows(start).max(1).mean()


def output():
    values = np.random.default_rng(1).standard_normal((4_000, 256))
    mixed = (softmax_rows(random_rows(64, 256, 4_000) / 8) * values).sum(1)
    return mixed.std() == pytest.approx(math.sqrt(math.e / 256), rel=0.1)


@pytest.mark.parametrize("question", BY_CHOICE, ids=lambda question: question.name)
def test_the_option_marked_right_is_borne_out_by_computing(question):
    words = {
        "one-draw": "average over many draws",
        "maximum": "No weight and no gradient",
        "overflow": "rows would saturate",
        "unit-variance": "Only if",
        "no-divisor": "start smaller",
        "query-first": "exact arithmetic nothing",
        "temperature": "As algebra yes",
        "mean-gradient": "larger",
        "scale-one": "norms on q and k",
        "aligned": "aligned q and k",
        "subtract-log": "Nothing at all",
        "drift": "Yes: q and k may grow",
        "output": "far less",
    }
    assert words[question.name] in question.answer
    assert globals()[question.name.replace("-", "_")]()


# --- evidence, explanation, lesson ---


@EVERY
def test_the_evidence_draws_and_its_lesson_shows_the_same_state_from_the_link(question):
    view = question.evidence
    assert view.caption
    assert VIEWS[question.view](**question.link).drawing is view.drawing
    assert (
        dict(view.state).items()
        >= {
            key: VIEWS[question.view](**{key: text}).state[key]
            for key, text in question.link.items()
        }.items()
    )
    (page,) = [page for page in PAGES if page.url_path == question.lesson]
    text = (ROOT / page.file).read_text(encoding="utf-8")
    assert f'"{question.view}"' in text


@EVERY
def test_an_explanation_is_short_and_says_numbers_of_the_evidence(question):
    text = question.explanation
    assert 2 <= len(re.findall(r"[.?:;](?= |$)", text)) <= 9
    assert len(text) < 520
    assert "nan" not in text
    said = {word.strip(".,;:()") for word in text.replace(" %", "%").split()}
    assert any(re.fullmatch(r"(1 − )?[0-9][0-9.,]*(·10[⁻⁰-⁹¹²³]+)?%?", word) for word in said)


@EVERY
def test_an_explanation_follows_the_numbers_that_it_is_given(question):
    given = question.evidence.numbers
    other = {name: 0.123 * value if value == value else value for name, value in given.items()}
    if question.name == "arithmetic":  # its numbers are of softmax itself
        assert "0.576, 0.212, 0.212" in question.explanation
        return
    assert question.why(other) != question.explanation


def test_the_numbers_of_explanations_are_those_of_other_routes():
    assert "0.731" in BY_NAME["hundred"].explanation
    assert f"{math.sqrt(math.e / 256):.3f}" in BY_NAME["output"].explanation
    assert f"{1 / (1 + math.exp(-8)):.4f}" in BY_NAME["maximum"].explanation
    assert f"{math.sqrt(512):.1f}" in BY_NAME["which-d"].explanation
    assert f"{softmax([8, 4, 0])[0]:.3f}" in BY_NAME["temperature"].explanation
    assert f"{softmax([1, 0.5, 0])[0]:.3f}" in BY_NAME["temperature"].explanation
    assert f"{softmax([3, 1, 0])[0]:.3f}" in BY_NAME["subtract-log"].explanation


def test_a_choice_has_no_number_to_hit():
    with pytest.raises(ValueError, match="by choice"):
        _ = BY_NAME["drift"].target


def test_widths_that_are_asked_about_can_be_reached():
    assert {question.state["d_k"] for question in QUESTIONS if "d_k" in question.state} <= set(
        D_K.values
    )


def test_no_explanation_has_a_decimal_typed_in_but_the_alignment_that_the_view_fixes():
    tree = ast.parse((ROOT / "sdpa" / "views" / "questions.py").read_text(encoding="utf-8"))
    whys = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    assert len(whys) == len(QUESTIONS)
    texts = [n.value for f in whys for n in ast.walk(f) if isinstance(n, ast.Constant)]
    typed = {hit for t in texts if isinstance(t, str) for hit in re.findall(r"\d+\.\d+", t)}
    assert typed == {"0.2"}
