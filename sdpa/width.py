"""One rule, five places: a sum of m independent terms of variance 1 has standard deviation √m.

Where such a sum feeds something sensitive (a tanh, the next layer, a softmax) it is divided by √m
first, there as in attention. Each function is one small experiment at the start of training, with
its own seed and drawn by the exact law where one is known, so that it takes milliseconds.

As everywhere in the core a value out of its range raises a ValueError that says what was required
and what came.
"""

import math
from dataclasses import dataclass

import numpy as np

from sdpa.statistics import (
    Floats,
    _integer,
    _number,
    _positive,
    _softmax_trace,
    sample_rows,
    sample_scores,
)

SATURATED = 0.99


@dataclass(frozen=True)
class TanhLayer:
    """Std of the pre-activations, share of units with |tanh| > 0.99, mean slope tanh′."""

    std: float
    saturated_share: float
    mean_slope: float


def tanh_layer(
    fan_in: int, *, weight_std: float = 1.0, n_units: int = 20_000, seed: int = 0
) -> TanhLayer:
    """Measure a tanh layer at initialisation, on standard normal inputs.

    Parameters
    ----------
    fan_in : int
        Inputs of a unit, n: how many products its pre-activation adds up.
    weight_std : float
        Standard deviation of a weight: 1, or 1/√n.
    n_units, seed : int
        How many units are drawn, each with an input of its own.

    Returns
    -------
    TanhLayer

    Notes
    -----
    A pre-activation is a score between weights and input, with the law of a score at d_k = n.
    Weights of variance 1/n: Y. LeCun et al., Efficient BackProp, 1998; X. Glorot & Y. Bengio,
    AISTATS 2010, with 2/(n_in + n_out).

    Examples
    --------
    >>> raw, divided = tanh_layer(256), tanh_layer(256, weight_std=1 / 16)
    >>> print(round(raw.std), round(raw.saturated_share, 2), round(divided.saturated_share, 2))
    16 0.87 0.01
    """
    std_k = _positive("weight_std", weight_std)
    z = sample_scores(fan_in, _integer("n_units", n_units), seed=seed, std_k=std_k)
    activation = np.tanh(z)
    return TanhLayer(
        float(z.std()),
        float((np.abs(activation) > SATURATED).mean()),
        float((1 - activation**2).mean()),
    )


@dataclass(frozen=True, eq=False)
class ReluStack:
    """Root mean square after each layer, input first: over all networks, and for single ones.

    ``low`` and ``high`` are the 10 % and 90 % quantiles of one network's own value.
    """

    rms: Floats
    low: Floats
    high: Floats


def relu_stack(
    depth: int, *, width: int = 256, numerator: float = 2.0, n_networks: int = 100, seed: int = 0
) -> ReluStack:
    """Measure how large activations are along ``depth`` ReLU layers at initialisation.

    Parameters
    ----------
    depth, width : int
        Layers, and units in each.
    numerator : float
        Weights have variance numerator/width: 1 as for tanh, or 2.
    n_networks, seed : int
        Networks drawn, each with an input of its own whose mean square is 1.

    Returns
    -------
    ReluStack
        Arrays of float64, (depth + 1,).

    Notes
    -----
    ReLU keeps half of the mean square, so each layer multiplies it by numerator/2 on average: with
    1 the rms is 2^(−depth/2). He et al. 2015, arXiv:1502.01852. Exact, without a weight: given a
    layer's input x, the next pre-activations are independent and normal with variance
    numerator · rms(x)².

    Examples
    --------
    >>> one, two = relu_stack(20, numerator=1.0).rms[-1], relu_stack(20).rms[-1]
    >>> print(f"{one:.0e} {two:.0f}")
    1e-03 1
    """
    layers, n = _integer("depth", depth), _integer("width", width)
    gain, networks = _positive("numerator", numerator), _integer("n_networks", n_networks)
    rng = np.random.default_rng(seed)
    squares = np.ones((layers + 1, networks))
    for layer in range(layers):
        kept = np.maximum(rng.standard_normal((networks, n)), 0)
        squares[layer + 1] = squares[layer] * gain * np.vecdot(kept, kept) / n
    low, high = np.sqrt(np.quantile(squares, [0.1, 0.9], axis=1))
    return ReluStack(np.sqrt(squares.mean(axis=1)), low, high)


def residual_stream(
    branches: int, *, branch_std: float = 1.0, width: int = 4096, seed: int = 0
) -> Floats:
    """Measure the standard deviation of a residual stream as each branch is added to it.

    Parameters
    ----------
    branches : int
        How many are added to a stream that starts with variance 1.
    branch_std : float
        Of what a branch adds: 1, or 1/√branches.
    width, seed : int
        Components of the stream.

    Returns
    -------
    array of float64, (branches + 1,)
        √(1 + i · branch_std²) after i branches, give or take 1/√(2 width).

    Notes
    -----
    A branch W·x/rms(x) with weights of variance 1/n is a standard normal vector whatever x, so
    independent normal vectors are drawn in its place. GPT-2 multiplies the weights of its N
    residual layers by 1/√N (Radford et al. 2019, section 2.3).

    Examples
    --------
    >>> residual_stream(48)[-1].round(), residual_stream(48, branch_std=48**-0.5)[-1].round(1)
    (np.float64(7.0), np.float64(1.4))
    """
    steps = _integer("branches", branches), _integer("width", width)
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((steps[0] + 1, steps[1]))
    drawn[1:] *= _positive("branch_std", branch_std)
    stds: Floats = np.sqrt((np.cumsum(drawn, axis=0) ** 2).mean(axis=1))
    return stds


@dataclass(frozen=True)
class Head:
    """Mean cross-entropy in nats, and mean over examples of tr(J) = 1 − Σp²."""

    loss: float
    trace: float


def classifier_head(
    fan_in: int,
    *,
    weight_std: float = 1.0,
    n_classes: int = 10,
    n_examples: int = 5_000,
    seed: int = 0,
) -> Head:
    """Measure a linear classifier at initialisation, on standard normal features.

    Parameters
    ----------
    fan_in, n_classes : int
        Features n, and classes, at least 2.
    weight_std : float
        Of a weight: 1, 1/√n or 1/n.
    n_examples, seed : int
        Examples, each with weights of its own; every class is the right one equally often.

    Returns
    -------
    Head
        A loss of ln(n_classes) is a guess at random.

    Examples
    --------
    >>> print(round(classifier_head(256).loss))
    25
    >>> print(round(classifier_head(256, weight_std=1 / 256).loss, 2))  # ln 10 = 2.303
    2.3
    """
    classes = _integer("n_classes", n_classes, 2)
    rows = sample_rows(fan_in, classes, _integer("n_examples", n_examples), seed=seed)
    logits = _positive("weight_std", weight_std) * rows
    largest = logits.max(axis=1)
    log_total = largest + np.log(np.exp(logits - largest[:, None]).sum(axis=1))
    loss = (log_total - logits.mean(axis=1)).mean()  # the mean over classes: any may be right
    return Head(float(loss), float(_softmax_trace(logits, 1.0).mean()))


@dataclass(frozen=True)
class Sums:
    """Mean and root mean square of sums of d_k products."""

    mean: float
    rms: float


def aligned_sums(d_k: int, *, alignment: float = 0.0, n_sums: int = 20_000, seed: int = 0) -> Sums:
    """Measure scores of q and k whose components are correlated, pair by pair.

    Parameters
    ----------
    d_k : int
        Products in a sum.
    alignment : float
        ρ in [−1, 1], correlation of component i of q with component i of k.
    n_sums, seed : int
        Scores drawn.

    Returns
    -------
    Sums
        Mean ρ d_k, variance (1 + ρ²) d_k: independent vectors follow the central limit theorem,
        √d_k; aligned ones the law of large numbers, d_k.

    Notes
    -----
    Exact, with k = ρ q + √(1 − ρ²) k′: q·k = ρ‖q‖² + √(1 − ρ²) ‖q‖ z.

    Examples
    --------
    >>> round(aligned_sums(64).rms), round(aligned_sums(64, alignment=0.2).mean)
    (8, 13)
    """
    rho = _number("alignment", alignment, -1, 1)
    n = _integer("n_sums", n_sums)
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)
    squared = rng.chisquare(_integer("d_k", d_k), n)
    s = rho * squared + math.sqrt(1 - rho**2) * np.sqrt(squared) * z
    return Sums(float(s.mean()), _rms(s))


def _rms(x: Floats) -> float:
    return math.sqrt(float(np.vecdot(x, x).sum()) / x.size)
