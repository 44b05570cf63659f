"""Other ways to set how sharp attention is: one score matrix, many rules.

A rule turns raw scores s = q·k, or cosines s/(‖q‖‖k‖), into the logits that softmax sees. Each
rule here is a factor, which may depend on d_k and on the number n of keys, and perhaps a soft cap
on top. What differs is what the result still depends on: the width, the number of keys, or how
long q and k have grown in training.

Rows are drawn by their exact law, score and cosine of one key together. As everywhere in the core
a value out of its range raises a ValueError that says what was required and what came.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sdpa.attention import scores as raw_scores
from sdpa.attention import softmax
from sdpa.statistics import (
    Array,
    Floats,
    _integer,
    _one_of,
    _positive,
    entropy,
    score_density,
    typical_scores,
)

CAP = 50.0
COSINE_SCALE = 10.0
LEARNED_TEMPERATURE = 8.0


@dataclass(frozen=True)
class Rule:
    """How one rule makes logits.

    Attributes
    ----------
    of : {"score", "cosine"}
        What it takes: q·k, or q·k over both lengths, which is the score of the unit vectors.
    formula : str
        LaTeX, in s = q·k, c = cos(q, k), d_k and n.
    factor : callable
        (d_k, n) → what score or cosine is multiplied by.
    source : str
        Where it is from.
    cap : float or None
        If given, logit = cap · tanh(factor · x / cap).
    """

    of: Literal["score", "cosine"]
    formula: str
    factor: Callable[[int, int], float]
    source: str
    cap: float | None = None


def qk_norm_gain(n_keys: int) -> float:
    """Gain that QK-norm starts from, g₀ = log₂(L² − L), with L the number of keys, at least 2.

    In the paper L is a length of training sequences, and g is learned from there. Henry et al.
    2020, arXiv:2010.04245.

    Examples
    --------
    >>> qk_norm_gain(2), round(qk_norm_gain(1024), 2)
    (1.0, 20.0)
    """
    n = _integer("n_keys", n_keys, 2)
    return math.log2(n * n - n)


RULES: dict[str, Rule] = {
    "divide by 1": Rule("score", r"s", lambda d, n: 1.0, "the rule that does nothing"),
    "divide by √dₖ": Rule(
        "score", r"\frac{s}{\sqrt{d_k}}", lambda d, n: d**-0.5, "Vaswani et al. 2017, 1706.03762"
    ),
    "divide by dₖ": Rule(
        "score", r"\frac{s}{d_k}", lambda d, n: 1 / d, "μP: Yang et al. 2022, arXiv:2203.03466"
    ),
    "divide by a learned T": Rule(
        "score",
        r"\frac{s}{T},\ T = 8",
        lambda d, n: 1 / LEARNED_TEMPERATURE,
        "a temperature that was right at d_k = 64 and is kept",
    ),
    "softcap": Rule(
        "score",
        r"50\tanh\frac{s}{50\sqrt{d_k}}",
        lambda d, n: d**-0.5,
        "Gemma 2, arXiv:2408.00118, cap 50",
        CAP,
    ),
    "softcap without √dₖ": Rule(
        "score",
        r"50\tanh\frac{s}{50}",
        lambda d, n: 1.0,
        "nobody's: to see whether a cap could stand in for the divisor",
        CAP,
    ),
    "QK-norm": Rule(
        "cosine",
        r"g\,c,\ g = \log_2(n^2 - n)",
        lambda d, n: qk_norm_gain(n),
        "Henry et al. 2020, arXiv:2010.04245",
    ),
    "RMS QK-norm": Rule(
        "cosine",
        r"\sqrt{d_k}\,c",
        lambda d, n: d**0.5,
        "q and k to mean square 1, then 1/√d_k, learned gains at 1: as in Qwen3, arXiv:2505.09388",
    ),
    "cosine": Rule(
        "cosine",
        r"\frac{c}{\tau},\ \tfrac1\tau = 10",
        lambda d, n: COSINE_SCALE,
        "Swin v2: Liu et al. 2021, arXiv:2111.09883, τ learned",
    ),
    "log n": Rule(
        "score",
        r"\ln n\,\frac{s}{\sqrt{d_k}}",
        lambda d, n: math.log(n) * d**-0.5,
        "Chiang & Cholak 2022, arXiv:2202.12172, natural logarithm",
    ),
}


def apply_rule(
    rule: str, matches: ArrayLike, d_k: int, *, n_keys: int | None = None, growth: float = 1.0
) -> Floats:
    """Logits of a rule from scores, or from cosines where the rule takes those.

    Parameters
    ----------
    rule : str
        A key of ``RULES``.
    matches : array_like, (..., n)
        Scores q·k if ``RULES[rule].of`` is "score", else cosines.
    d_k : int
        Length of q and k.
    n_keys : int, optional
        How many keys the row has, at least 2, if not as many as the last axis.
    growth : float
        What scores have been multiplied by since they were drawn, as when q has grown longer in
        training; cosines do not notice.

    Returns
    -------
    array of float64, (..., n)

    Examples
    --------
    >>> apply_rule("divide by √dₖ", [8.0, 4.0, 0.0], 64)
    array([1. , 0.5, 0. ])
    >>> apply_rule("softcap without √dₖ", [8.0, 4.0, 0.0], 64).round(2)
    array([7.93, 3.99, 0.  ])
    """
    _one_of("rule", rule, tuple(RULES))
    x = np.asarray(matches, dtype=np.float64)
    if x.ndim == 0:
        raise ValueError("matches must have an axis for the keys, got one number")
    if not np.isfinite(x).all():
        raise ValueError("matches must be finite, got inf or nan")
    given = RULES[rule]
    if given.of == "cosine" and x.size and np.abs(x).max() > 1 + 1e-9:
        raise ValueError(
            f"matches must be cosines between −1 and 1 for {rule!r}, got {np.abs(x).max():.4g}"
        )
    n = _integer("n_keys", x.shape[-1] if n_keys is None else n_keys, 2)
    factor = given.factor(_integer("d_k", d_k), n)
    if given.of == "score":
        factor *= _positive("growth", growth)
    logits: Floats = x * factor
    return logits if given.cap is None else given.cap * np.tanh(logits / given.cap)


def rule_logits(rule: str, q: ArrayLike, k: ArrayLike) -> Floats:
    """Logits of a rule from queries and keys.

    Parameters
    ----------
    rule : str
        A key of ``RULES``.
    q, k : array_like, (..., n_q, d_k) and (..., n, d_k)
        As for `sdpa.attention.scores`; no vector is zero where the rule takes cosines.

    Returns
    -------
    array of float64, (..., n_q, n)

    Examples
    --------
    >>> rule_logits("cosine", [[3.0, 0.0]], [[6.0, 0.0], [0.0, 5.0]])
    array([[10.,  0.]])
    """
    _one_of("rule", rule, tuple(RULES))
    q, k = np.asarray(q, dtype=np.float64), np.asarray(k, dtype=np.float64)
    if RULES[rule].of == "cosine":
        q, k = _unit("q", q), _unit("k", k)
    return apply_rule(rule, raw_scores(q, k), q.shape[-1])


def _unit(name: str, rows: Floats) -> Floats:
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    if not length.all():
        raise ValueError(f"{name} must have no zero vector, got one in shape {rows.shape}")
    unit: Floats = rows / length
    return unit


@dataclass(frozen=True, eq=False)
class Matches:
    """Scores and cosines of the same queries and keys, (rows, n) each."""

    scores: Floats
    cosines: Floats

    def for_rule(self, rule: str) -> Floats:
        """Give what this rule takes."""
        return self.scores if RULES[rule].of == "score" else self.cosines


def sample_matches(d_k: int, n_keys: int, n_rows: int, *, seed: int) -> Matches:
    """Scores and cosines of standard normal queries, each against n_keys keys of its own.

    Parameters
    ----------
    d_k, n_keys, n_rows : int
        d_k ≥ 2.
    seed : int
        The same z at every d_k, as in `sdpa.statistics.sample_rows`, whose scores these are.

    Returns
    -------
    Matches

    Notes
    -----
    Exact, without a vector: of a key only z, its component along the query, and r² ~ χ²(d_k − 1),
    the square of the rest, matter. Then q·k = ‖q‖ z and cos(q, k) = z/√(z² + r²).

    Examples
    --------
    >>> drawn = sample_matches(64, 16, 1000, seed=0)
    >>> print(drawn.scores.std().round(1), drawn.cosines.std().round(3))
    8.0 0.125
    """
    d = _integer("d_k", d_k, 2)
    shape = _integer("n_rows", n_rows), _integer("n_keys", n_keys)
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(shape)
    length = np.sqrt(rng.chisquare(d, (shape[0], 1)))
    return Matches(length * z, z / np.sqrt(z * z + rng.chisquare(d - 1, shape)))


def typical_matches(d_k: int, n_keys: int) -> Matches:
    """Scores and cosines of one row as it is on average, (1, n), largest first.

    z as in `sdpa.statistics.typical_scores`, the query's length √d_k, the rest of a key √(d_k − 1).

    Examples
    --------
    >>> typical_matches(64, 3).cosines.round(3)
    array([[ 0.109,  0.   , -0.109]])
    """
    d = _integer("d_k", d_k, 2)
    z = typical_scores(1, n_keys)[None]
    return Matches(math.sqrt(d) * z, z / np.sqrt(z * z + d - 1))


def leading_weight(rule: str, d_k: int, n_keys: int, *, lead: float) -> float:
    """Weight of one key that stands out by ``lead`` standard deviations among n − 1 equal ones.

    The others score 0. With the logit ℓ of the one it is 1/(1 + (n − 1)e^{−ℓ}): for ℓ that does
    not grow with n it fades like 1/n, for ℓ = lead · ln n with lead > 1 it does not (the argument
    of Chiang & Cholak 2022, arXiv:2202.12172).

    Examples
    --------
    >>> for rule in "divide by √dₖ", "log n":
    ...     print(round(leading_weight(rule, 64, 1024, lead=3.0), 3))
    0.019
    1.0
    """
    d, z = _integer("d_k", d_k, 2), _positive("lead", lead)
    match = z * math.sqrt(d) if RULES[rule].of == "score" else z / math.sqrt(z * z + d - 1)
    logits = np.append(np.zeros(_integer("n_keys", n_keys, 2) - 1), match)
    return float(softmax(apply_rule(rule, logits, d))[-1])


def logit_std(rule: str, d_k: int, n_keys: int, *, growth: float = 1.0) -> float:
    """Compute the standard deviation of a rule's logits for standard normal q and k, exact.

    √d_k times the factor for scores, 1/√d_k times the factor for cosines; a soft cap is averaged
    over the density of the score.

    Examples
    --------
    >>> logit_std("divide by √dₖ", 64, 16), logit_std("divide by dₖ", 64, 16)
    (1.0, 0.125)
    """
    _one_of("rule", rule, tuple(RULES))
    d = _integer("d_k", d_k, 2)
    given, root = RULES[rule], math.sqrt(d)
    if given.cap is None:
        spread = root if given.of == "score" else 1 / root
        grown = _positive("growth", growth) if given.of == "score" else 1.0
        return spread * given.factor(d, _integer("n_keys", n_keys, 2)) * grown
    s = np.linspace(0, 12 * root, 601)
    logits = apply_rule(rule, s, d, n_keys=n_keys, growth=growth)
    return math.sqrt(2 * float(np.trapezoid(logits**2 * score_density(s, d), s)))


@dataclass(frozen=True)
class RuleStatistics:
    """What softmax makes of rows under a rule.

    ``std`` of the logits, from the law; mean over rows of the entropy as a share of ln n, and of
    the largest weight.
    """

    std: float
    entropy: float
    largest: float


def compare_rules(
    d_k: int, n_keys: int, *, n_rows: int, seed: int, growth: float = 1.0
) -> dict[str, RuleStatistics]:
    """Statistics of every rule on the same random rows.

    Parameters
    ----------
    d_k, n_keys, n_rows, seed : int
        As for `sample_matches`; n_keys ≥ 2.
    growth : float
        As for `apply_rule`.

    Returns
    -------
    dict of str to RuleStatistics

    Examples
    --------
    >>> found = compare_rules(64, 16, n_rows=2000, seed=0)
    >>> print(round(found["divide by 1"].largest, 2), round(found["divide by √dₖ"].largest, 2))
    0.84 0.25
    """
    n = _integer("n_keys", n_keys, 2)
    drawn = sample_matches(d_k, n, n_rows, seed=seed)
    found = {}
    for rule in RULES:
        weights = softmax(apply_rule(rule, drawn.for_rule(rule), d_k, growth=growth))
        found[rule] = RuleStatistics(
            logit_std(rule, d_k, n, growth=growth),
            float(entropy(weights).mean()) / math.log(n),
            float(weights.max(axis=-1).mean()),
        )
    return found


def participation(weights: ArrayLike) -> Array:
    """How many keys share the attention by squares, 1/Σp², along the last axis.

    Examples
    --------
    >>> participation([[0.5, 0.5], [1.0, 0.0]])
    array([2., 1.])
    """
    p = np.asarray(weights, dtype=np.float64)
    shared: Array = 1 / np.vecdot(p, p)
    return shared


def liquid_entropy(n_keys: int, spread: float = 1.0) -> float:
    """Entropy of softmax over n normal logits of this spread, for many keys: ln n − spread²/2.

    Holds while spread < √(2 ln n), where the random-energy model is not frozen (B. Derrida, Phys.
    Rev. B 24, 2613 (1981)); a larger spread raises a ValueError. So H/ln n keeps its value with n
    only if the spread grows like √(ln n).

    Examples
    --------
    >>> round(liquid_entropy(1024), 3)
    6.431
    """
    n = _integer("n_keys", n_keys, 2)
    spread = _liquid(n, spread)
    return math.log(n) - spread**2 / 2


def liquid_participation(n_keys: int, spread: float = 1.0) -> float:
    """1/Σp² for many keys, n·exp(−spread²); as `liquid_entropy`.

    Examples
    --------
    >>> round(liquid_participation(1024))
    377
    """
    n = _integer("n_keys", n_keys, 2)
    return n * math.exp(-(_liquid(n, spread) ** 2))


def frozen_trace(n_keys: int, spread: float) -> float:
    """Mean of 1 − Σp² beyond the freezing, √(2 ln n)/spread: to leading order for many keys.

    At finite n the mean is 10 to 25 % lower. Needs spread ≥ √(2 ln n).

    Examples
    --------
    >>> round(frozen_trace(1024, 16.0), 3)  # not scaled, d_k = 256
    0.233
    """
    edge = math.sqrt(2 * math.log(_integer("n_keys", n_keys, 2)))
    if _positive("spread", spread) < edge:
        raise ValueError(f"spread must be at least √(2 ln n) = {edge:.4g}, got {spread}")
    return edge / spread


def _liquid(n: int, spread: float) -> float:
    edge = math.sqrt(2 * math.log(n))
    if _positive("spread", spread) > edge:
        raise ValueError(f"spread must be at most √(2 ln n) = {edge:.4g}, got {spread}")
    return spread
