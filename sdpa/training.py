"""A lookup table that attention must learn, trained with one divisor or another.

n queries and n keys are free vectors, drawn from N(0, I): the premise of the paper's footnote 4.
Query i must fetch the value of key π(i), for a fixed permutation π, and gradient descent on the
queries and keys is to bring that about:

    S = Q Kᵀ,  P = softmax(S/T),  O = P V with one-hot values V = I, so that O = P.

The loss sits on the outputs ("values"), ½·mean ‖oᵢ − v_π(i)‖², as in a Transformer, where it
reaches the weights through the values; or on the weights themselves ("weights"), −mean ln p_iπ(i),
as in a classifier, where the logarithm cancels the softmax's own slope.

This is one task, a table without shared projections, so that no row can learn from another. Where
queries and keys come from shared projections, rows that are still alive move the dead ones too:
what is seen here is no claim about every model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpa.statistics import _integer, _one_of, _positive

__all__ = [
    "KEPT",
    "LOSSES",
    "OPTIMISERS",
    "RATES",
    "LookupGradients",
    "Training",
    "lookup_gradients",
    "lookup_task",
    "train_lookup",
]

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.int64]

LOSSES = ("values", "weights")
OPTIMISERS = ("sgd", "adam")
KEPT = (0, 1, 2, 5, 10, 20, 50, 100, 200)
# Learning rates that suit √d_k at every width. On the weights 30 would overshoot with SGD: without
# a divisor the training then fails for a reason that has nothing to do with saturation.
RATES = {
    ("sgd", "values"): 30.0,
    ("sgd", "weights"): 1.0,
    ("adam", "values"): 0.01,
    ("adam", "weights"): 0.01,
}
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8  # Adam's own defaults


class LookupGradients(NamedTuple):
    """One pass forward and back, each array with the queries' leading axes.

    ``log_weights`` (..., n, n) is ln P; ``scores`` (..., n, n), ``queries`` and ``keys``
    (..., n, d) are the gradients of the loss by the raw scores S, by Q and by K.
    """

    log_weights: Floats
    scores: Floats
    queries: Floats
    keys: Floats


@dataclass(frozen=True, eq=False)
class Training:
    """What happened in training; ``...`` are the divisor's own axes.

    Attributes
    ----------
    loss : array, (..., steps + 1)
        Before the first step, and after each.
    accuracy : array, (..., steps + 1)
        Share of the queries whose largest weight is on the right key; chance is 1/n.
    share : array, (..., steps + 1)
        Where the gradient points: of Σⱼ|∂L/∂s_ij|, the part that lies on the right key. Median
        over the rows that are still wrong; nan where none is. At most ½, since over a row the
        gradient sums to 0; ½ is all of the push upwards.
    row_gradient : array, (..., steps + 1)
        How large the gradient is: Σⱼ|∂L/∂s_ij|, by the raw scores (so 1/T is in it). Median over
        the rows that are still wrong; nan where none is.
    gradient_norm : array, (..., steps + 1)
        Length of the gradient by all queries and keys together.
    weights : array, (..., len(kept), n, n)
        P at the steps in ``kept``.
    kept : tuple of int
        Steps at which the weights were kept.
    target : array of int, (n,)
        π: the right key of each query.
    """

    loss: Floats
    accuracy: Floats
    share: Floats
    row_gradient: Floats
    gradient_norm: Floats
    weights: Floats
    kept: tuple[int, ...]
    target: Integers

    def steps_to(self, accuracy: float) -> Floats:
        """Count the steps until so many queries are right, nan for never; shape (...).

        Examples
        --------
        >>> train_lookup(64, [1.0, 8.0]).steps_to(0.95)
        array([nan, 21.])
        """
        reached = self.accuracy >= accuracy
        return _first(reached)


def lookup_task(d_k: int, n: int, seed: int) -> tuple[Floats, Floats, Integers]:
    """Draw the start: queries and keys (n, d_k) from N(0, 1), and the right key of each (n,).

    Examples
    --------
    >>> queries, keys, target = lookup_task(64, 4, seed=0)
    >>> queries.shape, keys.shape, sorted(target.tolist())
    ((4, 64), (4, 64), [0, 1, 2, 3])
    """
    rng = np.random.default_rng(seed)
    queries, keys = rng.standard_normal((2, n, d_k))
    return queries, keys, rng.permutation(n)


@np.errstate(all="ignore")
def lookup_gradients(
    queries: Floats, keys: Floats, target: Integers, divisor: ArrayLike, loss: str = "values"
) -> LookupGradients:
    """Go forward to the weights and back to the gradients of one loss.

    Parameters
    ----------
    queries, keys : array, (..., n, d)
        Q and K.
    target : array of int, (n,)
        The right key of each query.
    divisor : array_like
        T; broadcasts against (..., n, n).
    loss : {"values", "weights"}
        Where the loss sits (see the module).

    Returns
    -------
    LookupGradients
        Not finite where the scores are not.

    Notes
    -----
    By the scores, with Y the one-hot targets: J (P − Y)/(nT) with J = diag(p) − p pᵀ of each row
    for the loss on the values, (P − Y)/(nT) for the loss on the weights. The first carries the
    softmax's slope p(1 − p), the second does not.

    Examples
    --------
    >>> q, k = np.array([[1.0], [-1.0]]), np.array([[1.0], [-1.0]])
    >>> lookup_gradients(q, k, np.array([0, 1]), 1.0).scores.round(4)
    array([[-0.0125,  0.0125],
           [ 0.0125, -0.0125]])
    """
    n = len(target)
    divisor = np.asarray(divisor, dtype=float)
    logits = queries @ keys.mT / divisor
    logits -= logits.max(axis=-1, keepdims=True)
    weights = np.exp(logits)
    total = weights.sum(axis=-1, keepdims=True)
    log_weights, weights = logits - np.log(total), weights / total
    by_scores = weights.copy()
    by_scores[..., np.arange(n), target] -= 1
    if loss == "values":
        by_scores = weights * (by_scores - (weights * by_scores).sum(axis=-1, keepdims=True))
    by_scores /= n * divisor
    back = by_scores.astype(keys.dtype, copy=False)
    return LookupGradients(log_weights, by_scores, back @ keys, back.mT @ queries)


@np.errstate(all="ignore")
def train_lookup(
    d_k: int,
    divisor: ArrayLike,
    *,
    n: int = 16,
    steps: int = 200,
    lr: float = 30.0,
    loss: str = "values",
    optimiser: str = "sgd",
    seed: int = 0,
    kept: Sequence[int] = KEPT,
) -> Training:
    """Train the lookup table with full-batch gradient descent on its queries and keys.

    Parameters
    ----------
    d_k : int
        Length of the queries and keys.
    divisor : float or array_like of float
        T, what the scores are divided by: 1, √d_k, d_k, … Several are trained side by side, from
        the same start.
    n : int
        How many queries, and keys; at least 2.
    steps : int
        How many steps; at least 1.
    lr : float
        Learning rate; `RATES` has one for each optimiser and loss.
    loss : {"values", "weights"}
        Where the loss sits (see the module).
    optimiser : {"sgd", "adam"}
        Plain gradient descent, or Adam with its usual constants.
    seed : int
        Of the draw of queries, keys and permutation. Same seed, same history.
    kept : sequence of int
        Steps at which to keep the weights; those beyond ``steps`` are left out.

    Returns
    -------
    Training
        Values are nan from the step on at which the training leaves the range of float64, as it
        may with a learning rate that is far too large.

    Raises
    ------
    ValueError
        In one sentence, what was required and what came.

    Notes
    -----
    Plain gradient descent never leaves the space that the first queries and keys span, and looks
    the same in any orthonormal basis of it. So with d_k > 2n it runs on 2n coordinates instead of
    d_k, and costs the same at every width. Adam treats each component by itself and gets them all,
    in float32; all else is float64.

    References
    ----------
    The premise of the start: Vaswani et al. 2017, footnote 4, arXiv:1706.03762. Adam: Kingma & Ba
    2015, algorithm 1, arXiv:1412.6980.

    Examples
    --------
    >>> history = train_lookup(64, [1.0, 8.0, 64.0])
    >>> history.accuracy[:, -1]
    array([0.3125, 1.    , 1.    ])
    """
    d_k, n, steps = _integer("d_k", d_k), _integer("n", n, 2), _integer("steps", steps)
    lr, seed = _positive("lr", lr), _integer("seed", seed, 0)
    _one_of("loss", loss, LOSSES)
    _one_of("optimiser", optimiser, OPTIMISERS)
    divisors = _divisors(divisor)
    queries, keys, target = lookup_task(d_k, n, seed)
    start = np.concatenate([queries, keys])
    if optimiser == "sgd":
        start = _in_own_span(start)
    rows = np.repeat(start[None], divisors.size, axis=0)
    if optimiser == "adam":
        rows = rows.astype(np.float32)
        adam = _Adam(rows.shape, lr)

    log_weights = np.empty((divisors.size, steps + 1, n, n))
    by_scores = np.empty_like(log_weights)
    norm = np.empty((divisors.size, steps + 1))
    for step in range(steps + 1):
        back = lookup_gradients(rows[:, :n], rows[:, n:], target, divisors[:, None, None], loss)
        log_weights[:, step], by_scores[:, step] = back.log_weights, back.scores
        gradient = np.concatenate([back.queries, back.keys], axis=1)
        norm[:, step] = np.linalg.norm(gradient.reshape(divisors.size, -1), axis=-1)
        if step < steps:
            rows -= adam.change(gradient) if optimiser == "adam" else lr * gradient

    kept = tuple(step for step in kept if step <= steps)
    right = log_weights.argmax(axis=-1) == target
    lost = ~np.isfinite(norm)
    # Over a row the gradient sums to 0, so half of its size pushes up: the half that is free of
    # cancellation where one key has nearly all the weight.
    upward = np.maximum(-by_scores, 0).sum(axis=-1)
    on_target = -by_scores[..., np.arange(n), target]
    shape = np.shape(divisor)

    def shaped(parts: Floats) -> Floats:
        return parts.reshape(shape + parts.shape[1:])

    return Training(
        loss=shaped(_loss(log_weights, target, loss)),
        accuracy=shaped(np.where(lost, np.nan, right.mean(axis=-1))),
        share=shaped(_median(on_target / (2 * upward), ~right & (upward > 0))),
        row_gradient=shaped(_median(2 * upward, ~right)),
        gradient_norm=shaped(norm),
        weights=shaped(np.exp(log_weights[:, list(kept)])),
        kept=kept,
        target=target,
    )


class _Adam:
    """Adam's state. In place throughout, since at d_k = 1024 memory is what takes the time."""

    def __init__(self, shape: tuple[int, ...], lr: float) -> None:
        self.lr, self.steps = lr, 0
        self.sum, self.squares, self.work = np.zeros((3, *shape), np.float32)

    def change(self, gradient: Floats) -> Floats:
        """Take in a gradient, which is overwritten, and give what to subtract.

        The sums here are Adam's means without their factors 1 − β, which are constants and go
        into the rate and into ε with the corrections for the zero start.
        """
        self.steps += 1
        self.sum *= _BETA_1
        self.sum += gradient
        gradient *= gradient
        self.squares *= _BETA_2
        self.squares += gradient
        unit = np.sqrt((1 - _BETA_2) / (1 - _BETA_2**self.steps))
        np.sqrt(self.squares, out=self.work)
        self.work += np.float32(_EPSILON / unit)
        np.divide(self.sum, self.work, out=self.work)
        self.work *= np.float32(self.lr * (1 - _BETA_1) / (1 - _BETA_1**self.steps) / unit)
        return np.asarray(self.work)


def _in_own_span(rows: Floats) -> Floats:
    """Write rows in an orthonormal basis of what they span, where that takes fewer coordinates."""
    count, width = rows.shape
    return np.linalg.qr(rows.T).R.T if width > count else rows


def _first(reached: NDArray[np.bool_]) -> Floats:
    """Give the first place along the last axis that is reached, nan for none."""
    return np.where(reached.any(axis=-1), reached.argmax(axis=-1), np.nan)


def _loss(log_weights: Floats, target: Integers, loss: str) -> Floats:
    rows = np.arange(len(target))
    if loss == "weights":
        return np.asarray(-log_weights[..., rows, target].mean(axis=-1))
    error = np.exp(log_weights)
    error[..., rows, target] -= 1
    return np.asarray((error**2).sum(axis=-1).mean(axis=-1) / 2)


def _median(values: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """Median along the last axis of the chosen values, nan where there is none."""
    ordered = np.sort(np.where(chosen, values, np.nan), axis=-1)  # nan comes last
    count = chosen.sum(axis=-1, keepdims=True)
    low, high = (
        np.take_along_axis(ordered, place, -1)[..., 0] for place in ((count - 1) // 2, count // 2)
    )
    return np.asarray((low + high) / 2)  # of none: place −1 is nan


def _divisors(given: ArrayLike) -> Floats:
    divisors = np.asarray(given)
    if divisors.dtype.kind not in "iuf" or not ((divisors > 0) & (divisors < np.inf)).all():
        raise ValueError(f"divisor must be positive and finite, got {given!r}")
    return np.asarray(divisors, dtype=float).ravel()
