"""Attention that looks things up through shared projections, trained with one divisor or another.

The counterpart of `sdpa.training`, whose queries and keys are free vectors, each row by itself.
Here all rows share two matrices, as in a Transformer: every step brings fresh items x ~ N(0, I),

    q = x W_q,  k = x W_k,  S = Q Kᵀ,  P = softmax(S/T),  O = P V with one-hot values V = I.

The query of item i must find the key of item i again. The loss sits on the values, ½·mean
‖oᵢ − vᵢ‖². At the start W_q and W_k are drawn from N(0, 1/size), so that the components of q and k
have variance 1: the premise of the paper's footnote 4.

A row that is saturated and wrong has next to no gradient here too. But it need not have one: the
rows that are undecided move W_q and W_k, and with them the scores of every row to come.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpa.statistics import _integer, _one_of, _positive
from sdpa.training import OPTIMISERS, _Adam, _divisors, _first, _in_own_span

__all__ = [
    "BATCH",
    "ITEMS",
    "SHARED_RATES",
    "SIZE",
    "WINDOW",
    "ProjectionGradients",
    "ProjectionTraining",
    "projection_gradients",
    "train_projections",
]

Floats = NDArray[np.floating[Any]]

ITEMS, SIZE, BATCH = 8, 16, 4
WINDOW = 10  # batches: 4 batches' worth of 8 queries is too few to read an accuracy from
# Learning rates at which every width from 16 to 1024 learns, without a divisor too.
SHARED_RATES = {"sgd": 1.0, "adam": 0.01}


class ProjectionGradients(NamedTuple):
    """One pass forward and back.

    ``weights`` (..., batch, n, n) is P; ``scores`` (..., batch, n, n) and ``projections``
    (..., 2, size, d) are the gradients of the loss by the raw scores S and by W_q and W_k.
    """

    weights: Floats
    scores: Floats
    projections: Floats


@dataclass(frozen=True, eq=False)
class ProjectionTraining:
    """What happened in training; ``...`` are the divisor's own axes.

    Attributes
    ----------
    loss, accuracy : array, (..., steps)
        Of each step's own items, before the step is made: items never seen. ``accuracy`` is the
        share of the queries whose largest weight is on the right key; chance is 1/n.
    """

    loss: Floats
    accuracy: Floats

    def recent(self, window: int = WINDOW) -> Floats:
        """Average the accuracy over the last ``window`` batches, or all there are; (..., steps).

        Examples
        --------
        >>> ProjectionTraining(np.zeros(4), np.array([0.0, 1.0, 0.0, 0.5])).recent(2)
        array([0.  , 0.5 , 0.5 , 0.25])
        """
        window = _integer("window", window)
        total = np.cumsum(self.accuracy, axis=-1)
        total[..., window:] -= total[..., :-window].copy()
        return np.asarray(total / np.minimum(np.arange(1, total.shape[-1] + 1), window))

    def steps_to(self, accuracy: float, window: int = WINDOW) -> Floats:
        """Count the steps until the last ``window`` batches are so accurate, nan for never; (...).

        Never below ``window``, since so many batches are needed to say it.

        Examples
        --------
        >>> train_projections(256, [1.0, 16.0], optimiser="adam", lr=0.01).steps_to(0.9)
        array([28., 13.])
        """
        reached = self.recent(window) >= accuracy - 1e-12  # what adding up may lose
        reached[..., : window - 1] = False
        return _first(reached) + 1


@np.errstate(all="ignore")
def projection_gradients(
    projections: Floats, items: Floats, divisor: ArrayLike
) -> ProjectionGradients:
    """Go forward to the weights and back to the gradients of the loss.

    Parameters
    ----------
    projections : array, (..., 2, size, d)
        W_q and W_k.
    items : array, (batch, n, size)
        Several sets of n items; a query sees the keys of its own set.
    divisor : array_like
        T; broadcasts against (..., 1, 1, 1).

    Returns
    -------
    ProjectionGradients
        Not finite where the scores are not.

    Notes
    -----
    S = X (W_q W_kᵀ) Xᵀ, so items meet the product W_q W_kᵀ alone, size × size at every width.
    By the scores: J (P − I)/(nT·batch) with J = diag(p) − p pᵀ of each row.

    Examples
    --------
    >>> w, x = np.ones((2, 1, 1)), np.array([[[1.0], [-1.0]]])
    >>> projection_gradients(w, x, 1.0).projections.round(3).ravel()
    array([-0.05, -0.05])
    """
    batch, n, _ = items.shape
    w_q, w_k = projections[..., 0, :, :], projections[..., 1, :, :]
    product = (w_q @ w_k.mT)[..., None, :, :]
    divisor = np.asarray(divisor, dtype=projections.dtype)
    logits = items @ product @ items.mT / divisor
    logits -= logits.max(axis=-1, keepdims=True)
    weights = np.exp(logits)
    weights /= weights.sum(axis=-1, keepdims=True)
    error = weights - np.eye(n, dtype=weights.dtype)
    by_scores = weights * (error - (weights * error).sum(axis=-1, keepdims=True))
    by_scores /= n * batch * divisor
    by_product = (items.mT @ by_scores @ items).sum(axis=-3)
    back = np.stack([by_product @ w_k, by_product.mT @ w_q], axis=-3)
    return ProjectionGradients(weights, by_scores, back)


@np.errstate(all="ignore")
def train_projections(
    d_k: int,
    divisor: ArrayLike,
    *,
    n: int = ITEMS,
    size: int = SIZE,
    batch: int = BATCH,
    steps: int = 300,
    lr: float = 1.0,
    optimiser: str = "sgd",
    seed: int = 0,
) -> ProjectionTraining:
    """Train W_q and W_k to find items again, on fresh items every step.

    Parameters
    ----------
    d_k : int
        Length of the queries and keys.
    divisor : float or array_like of float
        T, what the scores are divided by: 1, √d_k, d_k, … Several are trained side by side, from
        the same start and on the same items.
    n : int
        How many items stand in one set, each with a query and a key; at least 2.
    size : int
        Components of an item.
    batch : int
        How many sets a step's gradient is averaged over.
    steps : int
        How many steps; at least 1.
    lr : float
        Learning rate; `SHARED_RATES` has one for each optimiser.
    optimiser : {"sgd", "adam"}
        Plain gradient descent, or Adam with its usual constants.
    seed : int
        Of the draw of projections and items. Same seed, same history.

    Returns
    -------
    ProjectionTraining
        Values are nan from the step on at which the training leaves the range of its floats.

    Raises
    ------
    ValueError
        In one sentence, what was required and what came.

    Notes
    -----
    As in `sdpa.training.train_lookup`, plain gradient descent never leaves the space that the
    rows of W_q and W_k span, so with d_k > 2·size it runs on 2·size coordinates, in float64. Adam
    gets all components, in float32.

    References
    ----------
    The premise of the start: Vaswani et al. 2017, footnote 4, arXiv:1706.03762. Adam: Kingma & Ba
    2015, algorithm 1, arXiv:1412.6980.

    Examples
    --------
    >>> history = train_projections(256, [1.0, 16.0, 256.0], lr=0.1)
    >>> history.steps_to(0.9)
    array([ 82., 151.,  nan])
    """
    d_k, n, steps = _integer("d_k", d_k), _integer("n", n, 2), _integer("steps", steps)
    size, batch = _integer("size", size), _integer("batch", batch)
    lr, seed = _positive("lr", lr), _integer("seed", seed, 0)
    _one_of("optimiser", optimiser, OPTIMISERS)
    divisors = _divisors(divisor)
    rng = np.random.default_rng(seed)
    start = rng.standard_normal((2 * size, d_k)) / np.sqrt(size)
    if optimiser == "sgd":
        start = _in_own_span(start)
    dtype = np.float32 if optimiser == "adam" else np.float64
    start = start.reshape(2, size, -1).astype(dtype)
    projections = np.repeat(start[None], divisors.size, axis=0)
    adam = _Adam(projections.shape, lr) if optimiser == "adam" else None

    loss, accuracy = np.empty((2, divisors.size, steps))
    own = np.arange(n)
    for step in range(steps):
        items: Floats = rng.standard_normal((batch, n, size)).astype(dtype)
        back = projection_gradients(projections, items, divisors[:, None, None, None])
        error = back.weights - np.eye(n)
        loss[:, step] = (error**2).sum(axis=-1).mean(axis=(-1, -2)) / 2
        accuracy[:, step] = (back.weights.argmax(axis=-1) == own).mean(axis=(-1, -2))
        gradient = back.projections
        projections -= lr * gradient if adam is None else adam.change(gradient)

    accuracy[np.isnan(loss)] = np.nan
    shape = np.shape(divisor)
    return ProjectionTraining(loss.reshape(*shape, steps), accuracy.reshape(*shape, steps))
