import hashlib
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats

from sdpa import heads
from sdpa.heads import (
    ASSET,
    D_K,
    HEADS,
    LADDER_STEPS,
    LAYERS,
    SENTENCE_NAMES,
    head,
    ladder,
    ladders,
    measured,
    measured_everywhere,
    sentence_text,
)
from sdpa.parameters import HEAD, LAYER, SENTENCE

ROOT = Path(__file__).parents[1]
README = (ROOT / "assets" / "README.md").read_text(encoding="utf-8")
EVERY_HEAD = [(layer, place) for layer in range(LAYERS) for place in range(HEADS)]

# The same encoder on eight other sentences, 146 tokens (the notes of this lesson): medians over
# 72 heads of the ladder, and means over a layer's heads. Other text, so near and not equal.
EIGHT_SENTENCES = [32.0, 34.2, 15.2, 27.7, 65.1, 60.4, 58.0]
EIGHT_SPREADS = [10.2, 11.4, 10.6, 7.7, 7.7, 6.7]
EIGHT_ENTROPIES = [0.76, 0.46, 0.46, 0.58, 0.57, 0.73]
EIGHT_TOP_WEIGHTS = [0.32, 0.61, 0.61, 0.53, 0.55, 0.37]
EIGHT_ENTROPIES_UNDIVIDED = [0.19, 0.05, 0.05, 0.06, 0.06, 0.11]
EIGHT_TOP_WEIGHTS_UNDIVIDED = [0.81, 0.95, 0.95, 0.94, 0.93, 0.88]


@pytest.fixture(scope="module")
def stored():
    with np.load(ASSET, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def weights(layer, place, sentence, divisor):
    one = head(layer, place, sentence)
    return special.softmax(one.q @ one.k.T / divisor, axis=-1)


# --- the asset ---


def test_the_asset_is_the_file_that_the_provenance_names():
    found = hashlib.sha256(ASSET.read_bytes()).hexdigest()
    assert found == "787685ab010a54aa14d7a5065f88ef027437c015602274f7ec50bb52797ed194"
    assert found in README
    assert f"{ASSET.stat().st_size:,} bytes" in README
    assert ASSET.stat().st_size < 500_000
    assert "Apache" in README


def test_the_provenance_and_the_script_name_the_same_weights():
    script = (ROOT / "assets" / "make_heads.py").read_text(encoding="utf-8")
    hashes = re.findall(r'"([0-9a-f]{64})"', script)
    assert len(hashes) == 2
    assert all(value in README for value in hashes)
    for name in SENTENCE_NAMES:
        assert f'"{sentence_text(name)}"' in script


def test_the_asset_has_q_and_k_of_every_layer_head_and_token_in_half_precision(stored):
    assert set(stored) == {"sentences", "tokens", "lengths", "q", "k"}
    assert stored["q"].shape == stored["k"].shape == (6, 12, 46, 32) == (LAYERS, HEADS, 46, D_K)
    assert stored["q"].dtype == stored["k"].dtype == np.float16
    assert stored["lengths"].tolist() == [16, 16, 14]
    assert len(stored["tokens"]) == 46
    assert np.isfinite(stored["q"]).all()
    assert np.isfinite(stored["k"]).all()


def test_a_head_is_its_part_of_the_asset(stored):
    start = 0
    for name, length in zip(SENTENCE_NAMES, stored["lengths"], strict=True):
        for layer, place in [(0, 0), (3, 1), (5, 11)]:
            one = head(layer, place, name)
            np.testing.assert_array_equal(one.q, stored["q"][layer, place, start : start + length])
            np.testing.assert_array_equal(one.k, stored["k"][layer, place, start : start + length])
            assert one.q.dtype == np.float64
            assert list(one.tokens) == stored["tokens"][start : start + length].tolist()
        start += length


def test_tokens_are_word_pieces_between_two_marks():
    words = "[CLS] the animal didn ' t cross the street because it was too tired . [SEP]"
    assert " ".join(head(0, 0, "animal").tokens) == words
    for name in SENTENCE_NAMES:
        tokens = head(0, 0, name).tokens
        assert tokens.count("it") == tokens.count(name) == 1
        assert sentence_text(name).startswith(tokens[1].capitalize())


def test_the_parameters_are_the_heads_and_sentences_that_there_are():
    assert LAYER.values == tuple(range(LAYERS))
    assert HEAD.values == tuple(range(HEADS))
    assert SENTENCE.values == SENTENCE_NAMES


def test_the_asset_is_read_when_it_is_asked_for_and_once():
    code = (
        "from sdpa import heads, parameters; asked = heads._asset.cache_info().misses; "
        "heads.head(0, 0, 'cup'); heads.ladders(); "
        "print(asked, heads._asset.cache_info().misses)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["0", "1"]


def test_nobody_can_change_what_all_share():
    for array in (head(3, 1, "cup").q, ladder(3, 1)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


# --- the story: it -> animal ---


def test_it_looks_at_the_animal():
    # Computed once from the weights file in double precision: .677, .102, .064, .050.
    one = head(3, 1, "animal")
    row = weights(3, 1, "animal", math.sqrt(32))[one.row("it")]
    shares = dict(zip(one.tokens, row.round(3), strict=True))
    assert shares["animal"] == 0.677
    assert shares["[CLS]"] == 0.102
    assert shares["it"] == 0.064
    assert shares["street"] == 0.050
    raw = np.sort(one.q[one.row("it")] @ one.k.T)
    assert raw[-2:].round(1).tolist() == [11.0, 21.7]
    assert weights(3, 1, "animal", 1.0)[one.row("it")].max().round(3) == 1.000


@pytest.mark.parametrize("name", SENTENCE_NAMES)
def test_of_all_72_heads_that_one_looks_most_from_it_to_its_noun(name):
    def share(at):
        one = head(*at, name)
        return weights(*at, name, math.sqrt(32))[one.row("it"), one.row(name)]

    assert max(EVERY_HEAD, key=share) == (3, 1)
    assert (LAYER.default, HEAD.default, SENTENCE.default) == (3, 1, "animal")


# --- what rows do ---


@pytest.mark.parametrize("at", [(3, 1), (0, 2), (5, 11)])
@pytest.mark.parametrize("sentence", [*SENTENCE_NAMES, None])
def test_measured_is_the_mean_over_rows_of_each_row_by_itself(at, sentence):
    names = SENTENCE_NAMES if sentence is None else [sentence]
    found = {key: [] for key in vars(measured(*at, sentence))}
    for name in names:
        one = head(*at, name)
        for query in one.q:
            raw = [float(np.dot(query, key)) for key in one.k]
            found["row_variance"].append(np.cov(raw, ddof=0))
            for ending, divisor in (("", math.sqrt(32)), ("_undivided", 1)):
                p = special.softmax(np.array(raw) / divisor)
                h = stats.entropy(p)
                found[f"entropy{ending}"].append(h / math.log(len(raw)))
                found[f"effective_keys{ending}"].append(math.exp(h))
                found[f"top_weight{ending}"].append(max(p))
    got = vars(measured(*at, sentence))
    for key, rows in found.items():
        assert got[key] == pytest.approx(np.mean(rows), rel=1e-9, abs=1e-12), key


def test_layers_are_near_what_eight_other_sentences_gave():
    every = measured_everywhere()
    spreads = np.sqrt(every.row_variance).mean(axis=1)
    np.testing.assert_allclose(spreads, EIGHT_SPREADS, rtol=0.05)
    for name, expected in [
        ("entropy", EIGHT_ENTROPIES),
        ("top_weight", EIGHT_TOP_WEIGHTS),
        ("entropy_undivided", EIGHT_ENTROPIES_UNDIVIDED),
        ("top_weight_undivided", EIGHT_TOP_WEIGHTS_UNDIVIDED),
    ]:
        np.testing.assert_allclose(getattr(every, name).mean(axis=1), expected, atol=0.065)


def test_one_head_stands_apart_and_looks_at_the_token_before_even_when_divided():
    spreads = np.sqrt(measured_everywhere().row_variance)
    assert np.unravel_index(spreads.argmax(), spreads.shape) == (0, 2)
    assert spreads.max() == pytest.approx(60.7, rel=0.03)  # on eight other sentences
    for name in SENTENCE_NAMES:
        p = weights(0, 2, name, math.sqrt(32))
        assert p.argmax(axis=1)[1:].tolist() == list(range(len(p) - 1))
    assert measured(0, 2).top_weight > 0.9995


def test_four_fifths_of_the_heads_are_within_a_factor_of_two_of_the_root():
    ratio = np.sqrt(measured_everywhere().row_variance / 32)
    assert np.mean((ratio > 0.5) & (ratio < 2)) == pytest.approx(0.83, abs=0.03)
    assert np.median(ratio) == pytest.approx(1.35, abs=0.05)


def test_without_the_divisor_every_head_is_sharper_or_as_sharp():
    every = measured_everywhere()
    assert (every.effective_keys_undivided <= every.effective_keys + 1e-9).all()
    assert (every.top_weight_undivided >= every.top_weight).all()


# --- the ladder ---


@pytest.mark.parametrize("at", EVERY_HEAD[::5])
def test_each_step_of_the_ladder_from_its_definition(at):
    parts = [head(*at, name) for name in SENTENCE_NAMES]
    q, k = np.vstack([one.q for one in parts]), np.vstack([one.k for one in parts])
    within = sum(len(one.k) * np.cov(one.k.T, ddof=0) for one in parts) / len(k)
    second = sum(np.outer(row, row) for row in q) / len(q)
    expected = [
        32,
        32 * np.cov(q.ravel(), ddof=0) * np.cov(k.ravel(), ddof=0),
        sum(np.cov(q[:, i], ddof=0) * np.cov(k[:, i], ddof=0) for i in range(32)),
        sum((q[:, i] @ q[:, i] / len(q)) * np.cov(k[:, i], ddof=0) for i in range(32)),
        np.trace(second @ np.cov(k.T, ddof=0)),
        np.trace(second @ within),
        # For one query a row's variance is qᵀ Cov(k) q.
        np.mean(
            [row @ np.cov(one.k.T, ddof=0) @ row for one in parts for row in one.q],
        ),
    ]
    np.testing.assert_allclose(ladder(*at), expected, rtol=1e-9)


def test_the_median_ladder_is_near_that_of_eight_other_sentences():
    assert ladders().shape == (LAYERS, HEADS, len(LADDER_STEPS))
    middle = np.median(ladders(), axis=(0, 1))
    np.testing.assert_allclose(middle, EIGHT_SENTENCES, rtol=0.13)


def test_every_step_counts_what_it_says():
    steps = ladders()
    assert (steps[..., 0] == 32).all()
    assert (steps[..., 3] >= steps[..., 2]).all()  # a square is at least the variance
    assert (steps[..., 6] == measured_everywhere().row_variance).all()
    misses = np.exp(np.median(np.abs(np.log(steps[..., :6] / steps[..., 6:])), axis=(0, 1)))
    assert misses[5] < misses[4] < 1.05 < misses[1] < misses[0] < misses[2]


# --- errors ---


@pytest.mark.parametrize("ask", [head, measured])
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((6, 0, "cup"), "layer must be an integer from 0 to 5, got 6"),
        ((0, 12, "cup"), "head must be an integer from 0 to 11, got 12"),
        ((-1, 0, "cup"), "layer must be .* got -1"),
        ((0, 1.5, "cup"), "head must be .* got 1.5"),
        ((0, 0, "dog"), "sentence must be one of animal, cup, letter, got 'dog'"),
    ],
)
def test_what_is_not_there_is_named(ask, arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        ask(*arguments)


def test_a_ladder_and_a_token_that_are_not_there_are_named():
    with pytest.raises(ValueError, match="layer must be an integer from 0 to 5, got 7"):
        ladder(7, 0)
    with pytest.raises(ValueError, match=r"token must be one of .*letter.*, got 'dog'"):
        head(0, 0, "letter").row("dog")
    with pytest.raises(ValueError, match="sentence must be one of"):
        heads.sentence_text("dog")
