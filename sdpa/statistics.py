"""What a sum of d_k random products does: spread of scores, its exact law, softmax and gradient.

Three layers, each usable alone: the sharpness of given weights (`entropy`); scores under stated
`Premises`, sampled and as laws (`sample_scores`, `score_variance`); and, for independent standard
normal components, the exact law of a score and what softmax makes of whole rows.

Everywhere d_k is the length of q and of k. A value out of its range raises a ValueError that says
what was required and what came. Same seed, same numbers.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]  # bfloat16 and float8 come from outside NumPy: no subtypes of np.floating
Floats = NDArray[np.float64]

_quiet = np.errstate(all="ignore")


@_quiet
def entropy(weights: ArrayLike, axis: int = -1) -> Array:
    """Entropy of attention weights in nats, −Σ p ln p.

    Parameters
    ----------
    weights : array_like, at least 1-d
        Each slice along ``axis``, the keys, sums to 1, or is all 0 (a fully masked query).

    Returns
    -------
    array
        The weights' shape without ``axis`` and their floating dtype (float64 for integers), below
        32 bits computed in float32 and rounded once. From 0 (one key) to ln n (all alike); 0 for
        a fully masked query.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, or a sum is off by more than 0.01; by more than
        0.15 in one-byte formats, which cannot do better.

    Examples
    --------
    >>> entropy([[0.5, 0.5], [1.0, 0.0]]).round(4)
    array([0.6931, 0.    ])
    """
    p, dtype = _checked_weights(weights, axis)
    return _nats(p, axis).astype(dtype)


@_quiet
def effective_keys(weights: ArrayLike, axis: int = -1) -> Array:
    """How many equally weighted keys would have this entropy, exp(H).

    Weights, dtype and errors as for `entropy`. From 1 to n; 0 for a fully masked query, which
    attends to no key.

    Examples
    --------
    >>> effective_keys([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]).round(4)
    array([2., 1., 0.])
    """
    p, dtype = _checked_weights(weights, axis)
    return np.where(p.any(axis=axis), np.exp(_nats(p, axis)), 0).astype(dtype)


def _nats(p: Array, axis: int) -> Array:
    # ln of 1 where p = 0, so that 0 · ln 0 = 0; and a p that is a rounding above 1 gives 0, not −0.
    nats: Array = np.maximum(-(p * np.log(np.where(p > 0, p, 1))).sum(axis=axis), 0) + 0.0
    return nats


def _checked_weights(weights: ArrayLike, axis: int) -> tuple[Array, np.dtype[Any]]:
    p = np.asarray(weights)
    if p.dtype.kind not in "biufV" or p.ndim == 0:
        raise ValueError(f"weights must be an array of real numbers, got {weights!r}")
    dtype = np.dtype(np.float64) if p.dtype.kind in "biu" else p.dtype
    p = p.astype(np.float32 if dtype.itemsize < 4 else dtype)
    bad = p[~(np.isfinite(p) & (p >= 0))]
    if bad.size:
        raise ValueError(f"weights must be finite and ≥ 0, got {bad[0]}")
    total, slack = p.sum(axis=axis), 0.15 if dtype.itemsize == 1 else 0.01
    bad = total[(np.abs(total - 1) > slack) & (total != 0)]
    if bad.size:
        raise ValueError(
            f"weights must sum to 1, or be all 0, within {slack}, got sum {bad[0]:.4g}"
        )
    return p, dtype


@dataclass(frozen=True)
class _Distribution:
    """A symmetric law of unit variance: how to draw it, and its fourth moment."""

    draw: Callable[[np.random.Generator, tuple[int, int]], Array]
    fourth_moment: float


_DISTRIBUTIONS = {
    "gaussian": _Distribution(lambda rng, shape: rng.standard_normal(shape), 3.0),
    "laplace": _Distribution(lambda rng, shape: rng.laplace(0.0, math.sqrt(0.5), shape), 6.0),
    "student_t5": _Distribution(lambda rng, shape: rng.standard_t(5, shape) * math.sqrt(0.6), 9.0),
    "rademacher": _Distribution(lambda rng, shape: 2.0 * rng.integers(0, 2, shape) - 1, 1.0),
    "uniform": _Distribution(lambda rng, shape: rng.uniform(-(3**0.5), 3**0.5, shape), 1.8),
    "cauchy": _Distribution(lambda rng, shape: rng.standard_cauchy(shape), math.inf),
}
DISTRIBUTIONS = tuple(_DISTRIBUTIONS)


@dataclass(frozen=True, kw_only=True)
class Premises:
    """What is assumed of q = mean_q + std_q·x and k = mean_k + std_k·y; the default is the paper's.

    Parameters
    ----------
    mean_q, mean_k, std_q, std_k : float
        Of every component; std ≥ 0.
    correlation_q, correlation_k : float
        ρ in [0, 1] between any two components of one vector: x = √ρ·common + √(1−ρ)·own.
    alignment : float
        a in [−1, 1], correlation of component i of q with component i of k:
        y = a·x + √(1−a²)·x′. The two vectors must then have the same ρ.
    distribution : str
        Of common and own, one of ``DISTRIBUTIONS``: symmetric, of variance 1. Only cauchy has
        none and is not scaled.
    normalise : {None, "unit", "layer", "rms"}
        Applied last to q and k each: to length 1; to mean 0 and variance 1 over the components
        (d_k ≥ 2); to mean square 1. Where there is nothing to scale up, zeros stay.
    """

    mean_q: float = 0.0
    mean_k: float = 0.0
    std_q: float = 1.0
    std_k: float = 1.0
    correlation_q: float = 0.0
    correlation_k: float = 0.0
    alignment: float = 0.0
    distribution: str = "gaussian"
    normalise: Literal["unit", "layer", "rms"] | None = None

    def __post_init__(self) -> None:
        for side in "qk":
            _number(f"mean_{side}", getattr(self, f"mean_{side}"))
            _number(f"std_{side}", getattr(self, f"std_{side}"), 0)
            _number(f"correlation_{side}", getattr(self, f"correlation_{side}"), 0, 1)
        _number("alignment", self.alignment, -1, 1)
        _one_of("distribution", self.distribution, DISTRIBUTIONS)
        _one_of("normalise", self.normalise, (None, "unit", "layer", "rms"))
        if self.alignment and self.correlation_q != self.correlation_k:
            raise ValueError(
                "correlation_q and correlation_k must be equal where alignment is not 0, "
                f"got {self.correlation_q} and {self.correlation_k}"
            )

    def independent(self) -> bool:
        """Whether all components have mean 0 and are independent, within and between q and k."""
        correlations = (self.correlation_q, self.correlation_k, self.alignment)
        return not any((self.mean_q, self.mean_k, *correlations))

    def heavy(self) -> bool:
        """Whether the score holds a sum of Cauchy variables, so that it has no variance."""
        factors = (self.std_q * self.std_k, self.mean_q * self.std_k, self.mean_k * self.std_q)
        return self.distribution == "cauchy" and self.normalise is None and any(factors)


@_quiet
def sample_scores(
    d_k: int,
    n: int,
    *,
    seed: int,
    method: Literal["auto", "exact", "product"] = "auto",
    **premises: Any,
) -> Floats:
    """Raw scores q·k of n independent pairs of q and k.

    Parameters
    ----------
    d_k, n : int
        Length of the vectors, number of pairs (≥ 0).
    method : {"auto", "exact", "product"}
        "product" draws every component. "exact" draws from the law of the score, s = ‖q‖·z with
        ‖q‖² chi-squared: two numbers a score at any d_k. "auto" takes it where it holds, for
        independent gaussian components of mean 0, not normalised.
    **premises
        Fields of `Premises`.

    Returns
    -------
    array of float64, (n,)

    Raises
    ------
    ValueError
        If something is out of range, or the exact law is asked for where it does not hold.
    TypeError
        If a premise is not a field of `Premises`.

    Examples
    --------
    >>> scores = sample_scores(64, 20_000, seed=0)
    >>> print(scores.shape, scores.std().round())
    (20000,) 8.0
    """
    d, given = _premises(d_k, premises)
    n = _integer("n", n, 0)
    _one_of("method", method, ("auto", "exact", "product"))
    exact = given == Premises(std_q=given.std_q, std_k=given.std_k)
    if method == "exact" and not exact:
        raise ValueError(f'method="exact" must have default premises but for std, got {given}')
    rng = np.random.default_rng(seed)
    if exact and method != "product":
        # z first: a sweep over d_k then moves the same draws instead of making new ones.
        z = rng.standard_normal(n)
        return given.std_q * given.std_k * np.sqrt(rng.chisquare(d, n)) * z
    scores = np.empty(n)
    rows = max(1, 2**20 // d)  # some six arrays of 8 MiB at a time
    for start in range(0, n, rows):
        q, k = _draw_pairs(rng, (min(rows, n - start), d), given)
        scores[start : start + rows] = np.vecdot(q, k)
    return scores


def _draw_pairs(
    rng: np.random.Generator, shape: tuple[int, int], given: Premises
) -> tuple[Floats, Floats]:
    def components(rho: float) -> Floats:
        draw = _DISTRIBUTIONS[given.distribution].draw
        own = draw(rng, shape)
        return math.sqrt(rho) * draw(rng, (len(own), 1)) + math.sqrt(1 - rho) * own if rho else own

    def normalised(rows: Floats) -> Floats:
        if given.normalise is None:
            return rows
        # Equal components leave a rounding error when centred: that is nothing to scale up.
        floor = 1e-12 * np.abs(rows).max(axis=1, keepdims=True)
        if given.normalise == "layer":
            rows = rows - rows.mean(axis=1, keepdims=True)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        target = 1.0 if given.normalise == "unit" else math.sqrt(shape[1])
        return np.where(length > floor, rows * (target / length), 0.0)

    x, y = components(given.correlation_q), components(given.correlation_k)
    if given.alignment:
        y = given.alignment * x + math.sqrt(1 - given.alignment**2) * y
    return normalised(given.mean_q + given.std_q * x), normalised(given.mean_k + given.std_k * y)


def score_mean(d_k: int, **premises: Any) -> float:
    """Mean of q·k under `Premises`, d_k (mean_q mean_k + a std_q std_k).

    Arguments and errors as for `score_variance`; nan for cauchy components, which have no mean.

    Examples
    --------
    >>> score_mean(64, mean_q=0.5, mean_k=0.5), score_mean(64, alignment=0.25)
    (16.0, 16.0)
    """
    d, given = _premises(d_k, premises, law=True)
    if given.heavy():
        return math.nan
    return d * (given.mean_q * given.mean_k + given.alignment * given.std_q * given.std_k)


def score_variance(d_k: int, **premises: Any) -> float:
    """Variance of q·k under `Premises`: d_k under the paper's (its footnote 4).

    Parameters
    ----------
    d_k : int
        Length of the vectors.
    **premises
        Fields of `Premises`.

    Returns
    -------
    float
        inf for cauchy components, unless they are normalised.

    Raises
    ------
    ValueError
        If something is out of range, or normalised components are not independent with mean 0
        and std above 0, for which no law is given.
    TypeError
        If a premise is not a field of `Premises`.

    Notes
    -----
    With C_q, C_k the correlation matrices, 1 on the diagonal and ρ off it, and m₄ = E x⁴::

        std_q² std_k² [tr(C_q C_k) + a² tr(C²) + a² (m₄ − 3) ((ρ d_k)² + d_k (1 − ρ)²)]
        + mean_q² std_k² 1ᵀC_k1 + mean_k² std_q² 1ᵀC_q1 + 2a mean_q mean_k std_q std_k 1ᵀC1

    The m₄ term is the fourth cumulant of √ρ·common + √(1−ρ)·own; third moments are 0 by symmetry.
    Normalised rows have E[q qᵀ] = I/d_k ("unit"), I ("rms"), (d_k I − 1 1ᵀ)/(d_k − 1) ("layer")
    whatever the distribution; the variance is the trace of the square.

    Examples
    --------
    >>> score_variance(64), score_variance(64, std_q=2), score_variance(64, alignment=1)
    (64.0, 256.0, 128.0)
    >>> score_variance(64, normalise="unit")
    0.015625
    """
    d, given = _premises(d_k, premises, law=True)
    if given.normalise == "layer":
        # Equal signs, which have no variance over the row, stay 0 with probability 2^(1−d).
        flat = 2.0 ** (1 - d) if given.distribution == "rademacher" else 0.0
        return d * d / (d - 1) * (1 - flat) ** 2
    if given.normalise:
        return float(d) if given.normalise == "rms" else 1 / d
    if given.heavy():
        return math.inf
    a, rho_q, rho_k = given.alignment, given.correlation_q, given.correlation_k
    products = (1 + a * a) * d * (1 + (d - 1) * rho_q * rho_k)
    if a:
        excess = _DISTRIBUTIONS[given.distribution].fourth_moment - 3
        products += a * a * excess * ((rho_q * d) ** 2 + d * (1 - rho_q) ** 2)
    sum_q, sum_k = d * (1 + (d - 1) * rho_q), d * (1 + (d - 1) * rho_k)
    of_q, of_k = given.mean_k * given.std_q, given.mean_q * given.std_k
    shifts = of_q * of_q * sum_q + of_k * of_k * sum_k + 2 * a * of_q * of_k * sum_q
    return (given.std_q * given.std_k) ** 2 * products + shifts


def score_excess_kurtosis(d_k: int, distribution: str = "gaussian") -> float:
    """Fourth moment of q·k over its squared variance, less 3: (m₄² − 3)/d_k.

    For independent components of mean 0; 6/d_k if gaussian. Cauchy has none: ValueError.

    Examples
    --------
    >>> score_excess_kurtosis(64), score_excess_kurtosis(64, "rademacher")
    (0.09375, -0.03125)
    """
    _one_of("distribution", distribution, tuple(x for x in DISTRIBUTIONS if x != "cauchy"))
    return (_DISTRIBUTIONS[distribution].fourth_moment ** 2 - 3) / _integer("d_k", d_k)


def sample_rows(d_k: int, n_keys: int, n_rows: int, *, seed: int) -> Floats:
    """Raw scores, (n_rows, n_keys), of independent queries against n_keys keys of their own.

    A row shares its query: it is ‖q‖·z, normal with standard deviation ‖q‖. A seed gives the same
    z at every d_k, so a sweep over d_k moves the same rows.

    Examples
    --------
    >>> sample_rows(64, 3, 2, seed=0).shape
    (2, 3)
    """
    d, shape = _integer("d_k", d_k), (_integer("n_rows", n_rows, 0), _integer("n_keys", n_keys))
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(shape)
    return np.sqrt(rng.chisquare(d, (shape[0], 1))) * z


def typical_scores(d_k: int, n_keys: int) -> Floats:
    """Raw scores of a row as it is on average: normal order statistics times √d_k, largest first.

    Blom's approximation to the mean of the i-th of n normal draws, Φ⁻¹((i − 3/8)/(n + 1/4)), good
    to about 0.03 of √d_k. G. Blom, Statistical Estimates and Transformed Beta-Variables, 1958.

    Examples
    --------
    >>> typical_scores(64, 4).round(2)
    array([ 8.39,  2.39, -2.39, -8.39])
    """
    n, root = _integer("n_keys", n_keys), math.sqrt(_integer("d_k", d_k))
    ranks = [(n - i + 0.625) / (n + 0.25) for i in range(1, n + 1)]
    return root * np.array([NormalDist().inv_cdf(rank) for rank in ranks])


def _squared_lengths(d: int, s: ArrayLike) -> tuple[Floats, Floats]:
    """Nodes r and weights for an average over r = ‖q‖² ~ χ²(d), of normal laws up to score s."""
    reach = min(np.fmax.reduce(np.abs(s), axis=None, initial=1.0), 512.0)
    return _trapezoid(d, 2.0 ** math.ceil(math.log2(reach)))


@lru_cache(maxsize=64)
def _trapezoid(d: int, reach: float) -> tuple[Floats, Floats]:
    """In v = ln(r/d) the integrands are analytic and fall off doubly exponentially.

    So the rule converges exponentially, and a step of 0.4 of their width, (d²/4 + s²)^−¼, is
    exact to rounding.
    """
    step = min(0.2, 0.4 / math.sqrt(math.hypot(d / 2, reach)))
    top = math.log(2 + 4 * (200 + reach) / d)
    v = np.arange(-math.ceil((120 / d + 1) / step), math.ceil(top / step)) * step
    log_weight = d / 2 * (v - np.expm1(v))  # 0 at the peak
    kept = log_weight > np.where(v < 0, -60, -200 - reach)  # a far score needs a long q
    weight = np.exp(log_weight[kept])
    # Over their own sum, as exact as the rule itself: no Γ(d/2) in which digits would cancel.
    r, weight = d * np.exp(v[kept]), weight / weight.sum()
    r.flags.writeable = weight.flags.writeable = False
    return r, weight


_erfc = np.vectorize(math.erfc, otypes=[np.float64])


@_quiet
def score_density(s: ArrayLike, d_k: int) -> Floats:
    """Exact density of q·k for standard normal q and k, the symmetric variance-gamma law.

    Parameters
    ----------
    s : array_like
        Scores; nan stays nan.
    d_k : int
        Length of the vectors.

    Returns
    -------
    array of float64, the shape of s
        To a relative 1e-11 down to 1e-100. inf at s = 0 for d_k = 1.

    Notes
    -----
    Given the query, q·k is normal with variance r = ‖q‖²; average over r ~ χ²(d_k). In closed form
    |s|^ν K_ν(|s|) / (√π 2^ν Γ(d_k/2)) with ν = (d_k − 1)/2 and K the modified Bessel function.

    Examples
    --------
    >>> score_density([0.0, 1.0], 2).round(6)
    array([0.5    , 0.18394])
    """
    d, s = _integer("d_k", d_k), np.abs(np.asarray(s, dtype=np.float64))
    r, chi_squared = _squared_lengths(d, s)
    normal = np.exp(s[..., None] ** 2 / (-2 * r)) / np.sqrt(2 * np.pi * r)
    density: Floats = normal @ chi_squared
    if d == 1:  # no node comes near enough to 0, where K₀(s) = −ln(s/2) − γ + O(s² ln s)
        density = np.where(s < 1e-8, -(np.log(s / 2) + np.euler_gamma) / np.pi, density)
    return density


@_quiet
def score_tail(threshold: ArrayLike, d_k: int) -> Floats:
    """Exact P(|q·k| > threshold) for standard normal q and k, in the shape of threshold.

    1 for a negative threshold. The normal tail, averaged as in `score_density`.

    Examples
    --------
    >>> score_tail([24.0, 80.0], 64).round(5)  # 3 and 10 standard deviations; 0.0027 if normal
    array([0.0033, 0.    ])
    """
    t = np.maximum(np.asarray(threshold, dtype=np.float64), 0)
    r, chi_squared = _squared_lengths(_integer("d_k", d_k), t)
    tail: Floats = _erfc(t[..., None] / np.sqrt(2 * r)) @ chi_squared
    return tail


@_quiet
def overflow_probability(d_k: int, n_keys: int, threshold: float, *, divisor: float = 1.0) -> float:
    """Chance that the largest of a query's n_keys scores, over divisor, exceeds the threshold.

    With the ``exp_overflow_threshold`` of a format: that a naive softmax overflows. Given
    ‖q‖² = r scores are independent, so this averages 1 − Φ(threshold·divisor/√r)ⁿ over
    r ~ χ²(d_k). Chances down to 1e-100 are accurate.

    Examples
    --------
    >>> round(overflow_probability(64, 16, 11.09), 2)  # float16, not scaled
    0.73
    >>> overflow_probability(64, 16, 11.09, divisor=8.0) < 1e-17
    True
    """
    limit = _number("threshold", threshold) * _positive("divisor", divisor)
    r, chi_squared = _squared_lengths(_integer("d_k", d_k), limit)
    one_exceeds = 0.5 * _erfc(limit / np.sqrt(2 * r))
    return float(-np.expm1(_integer("n_keys", n_keys) * np.log1p(-one_exceeds)) @ chi_squared)


@dataclass(frozen=True)
class GradientStatistics:
    """Mean, median and 10 % quantile over rows of tr(J)/T, and how unevenly it is spread.

    ``dead_share`` of the rows lie below 10⁻³; the tenth of rows with the largest values holds
    ``top_tenth_share`` of their sum, 0 where all are 0.
    """

    mean: float
    median: float
    lower_decile: float
    dead_share: float
    top_tenth_share: float


@_quiet
def gradient_statistics(
    d_k: int, n_keys: int, *, divisor: float, n_rows: int, seed: int
) -> GradientStatistics:
    """How much softmax passes back: the trace of its derivative, (1/T) Σ p(1 − p), row by row.

    Mean and typical row part ways: without scaling the mean falls like 1/√d_k, the median of two
    keys like exp(−0.95√d_k).

    Parameters
    ----------
    d_k, n_keys, n_rows, seed : int
        As for `sample_rows`; at least one row.
    divisor : float
        T, what raw scores are divided by: 1, √d_k or anything positive.

    Returns
    -------
    GradientStatistics

    Examples
    --------
    >>> raw = gradient_statistics(256, 16, divisor=1.0, n_rows=2000, seed=0)
    >>> scaled = gradient_statistics(256, 16, divisor=16.0, n_rows=2000, seed=0)
    >>> raw.mean > scaled.mean, raw.median < scaled.median, scaled.dead_share
    (True, True, 0.0)
    """
    divisor = _positive("divisor", divisor)
    rows = sample_rows(d_k, n_keys, _integer("n_rows", n_rows), seed=seed)
    traces = _softmax_trace(rows, divisor) / divisor
    lower_decile, median = np.quantile(traces, [0.1, 0.5])
    dead_share = (traces < 1e-3).mean()
    total, leading = traces.sum(), np.sort(traces)[-math.ceil(len(traces) / 10) :].sum()
    return GradientStatistics(
        mean=float(traces.mean()),
        median=float(median),
        lower_decile=float(lower_decile),
        dead_share=float(dead_share),
        top_tenth_share=float(leading / total) if total else 0.0,
    )


def _softmax_trace(scores: Floats, divisor: float) -> Floats:
    """Σ p(1 − p) of each row, also where the largest p rounds to 1 and 1 − p would give 0."""
    exponentials = np.exp((scores - scores.max(axis=-1, keepdims=True)) / divisor)
    # The largest is 1. Left out, the sum of the others is 1 − p_max, up to normalisation.
    np.put_along_axis(exponentials, scores.argmax(axis=-1)[:, None], 0.0, axis=-1)
    others = exponentials.sum(axis=-1)
    squares = np.vecdot(exponentials, exponentials)
    trace: Floats = (others * (2 + others) - squares) / (1 + others) ** 2
    return trace


def freezing_temperature(d_k: int, n_keys: int) -> float:
    """Temperature below which softmax over n ≥ 2 raw scores freezes, √(d_k/(2 ln n)).

    The limit of many keys, a smooth crossover for few: the random-energy model, B. Derrida,
    Phys. Rev. B 24, 2613 (1981).

    Examples
    --------
    >>> round(freezing_temperature(64, 16) / 8, 2)  # √d_k is well above
    0.42
    """
    return math.sqrt(_integer("d_k", d_k) / (2 * math.log(_integer("n_keys", n_keys, 2))))


def _premises(d_k: int, premises: dict[str, Any], *, law: bool = False) -> tuple[int, Premises]:
    given = Premises(**premises)
    if law and given.normalise and not (given.independent() and given.std_q and given.std_k):
        raise ValueError(
            "the law of normalised scores must have means and correlations of 0 and stds above 0, "
            f"got {given}"
        )
    return _integer("d_k", d_k, 2 if given.normalise == "layer" else 1), given


def _integer(name: str, value: Any, lowest: int = 1) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = lowest - 1
    if number < lowest or isinstance(value, bool):
        raise ValueError(f"{name} must be an integer ≥ {lowest}, got {value!r}")
    return number


def _number(name: str, value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and low <= number <= high):
        raise ValueError(f"{name} must be a finite number in [{low}, {high}], got {value!r}")
    return number


def _positive(name: str, value: Any) -> float:
    number = _number(name, value, 0)
    if not number:
        raise ValueError(f"{name} must be above 0, got {value!r}")
    return number


def _one_of(name: str, value: Any, valid: tuple[Any, ...]) -> None:
    if value not in valid:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, valid))}, got {value!r}")
