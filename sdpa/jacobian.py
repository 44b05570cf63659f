"""Derivatives of softmax and attention: what saturation does to the gradient.

With p = softmax(s/T), the Jacobian is ∂p/∂s = (diag(p) − p pᵀ)/T. It vanishes as a row of weights
becomes one-hot, and it carries the factor 1/T itself. It is symmetric, so the same product serves
forward (Jacobian times tangent) and backward (gradient times Jacobian). Computed as written, the
entry of a weight that rounds to 1 is p(1 − p) = 0; `norms` alone avoids that cancellation.

Functions here take weights, not scores: rows along the last axis, finite, ≥ 0, that sum to 1, or
to 0 if fully masked. Sums are let off by 0.01 (0.15 in 8-bit formats), so that numbers rounded as
in a textbook pass, while scores passed by mistake do not.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpa.attention import (
    Array,
    DType,
    _common_dtype,
    _factor,
    _number,
    _quiet,
    _real,
    _reject,
    _round,
    _temperature,
    _widen,
    attention,
    softmax,
)

__all__ = [
    "Norms",
    "attention_gradients",
    "best_temperature",
    "frobenius_norm",
    "norms",
    "softmax_jacobian",
    "softmax_jvp",
]


@dataclass(frozen=True, eq=False)
class Norms:
    """Sizes of the Jacobian ∂p/∂s, each of shape (...), in the unit of 1/score.

    Attributes
    ----------
    trace : array
        (1 − Σp²)/T, the sum of each key's sensitivity to its own score.
    frobenius : array
        Root of the sum of the squared entries.
    spectral : array
        Largest eigenvalue: the most that a unit change of the scores can change the weights.
    """

    trace: Array
    frobenius: Array
    spectral: Array


@_quiet
def softmax_jacobian(weights: ArrayLike, *, temperature: ArrayLike = 1.0) -> Array:
    """Jacobian of the weights by the scores, (diag(p) − p pᵀ)/T.

    Parameters
    ----------
    weights : array_like, (..., n)
        p, as `softmax` returns them at this temperature.
    temperature : array_like, positive
        T; an array broadcasts against the weights, with size 1 along the last axis.

    Returns
    -------
    array, (..., n, n)
        ``[..., i, j]`` is ∂p_i/∂s_j, in the weights' dtype. Rows and columns sum to 0; all is 0
        for a fully masked row.

    Raises
    ------
    ValueError
        If the weights are no weights (see the module) or 0-d, or T is not positive and finite.

    Examples
    --------
    >>> softmax_jacobian([0.75, 0.25])
    array([[ 0.1875, -0.1875],
           [-0.1875,  0.1875]])
    """
    p, dtype = _check_weights(weights)
    diagonal = p[..., :, None] * np.eye(p.shape[-1], dtype=p.dtype)
    outer = p[..., :, None] * p[..., None, :]
    return _round((diagonal - outer) / _temperature(temperature)[..., None], dtype)


@_quiet
def softmax_jvp(weights: ArrayLike, tangent: ArrayLike, *, temperature: ArrayLike = 1.0) -> Array:
    """Jacobian times a vector without the matrix, p·(t − Σ p t)/T.

    Parameters
    ----------
    weights : array_like, (..., n)
        p, as for `softmax_jacobian`.
    tangent : array_like, (..., n)
        t: a change of the scores, or, the Jacobian being symmetric, a gradient by the weights.
        Broadcasts against the weights.
    temperature : array_like, positive
        As for `softmax_jacobian`.

    Returns
    -------
    array, (..., n)
        In the weights' dtype. A constant tangent gives 0: a common offset changes no weight.

    Raises
    ------
    ValueError
        As for `softmax_jacobian`, or if the tangent is not real or does not have n entries.

    Examples
    --------
    >>> softmax_jvp([0.75, 0.25], [1.0, 0.0])
    array([ 0.1875, -0.1875])
    """
    p, dtype = _check_weights(weights)
    t = _widen(_real("tangent", tangent))
    if t.ndim and t.shape[-1] not in (1, p.shape[-1]):
        raise ValueError(f"tangent must have n={p.shape[-1]} entries a row, got shape {t.shape}")
    return _round(p * (t - (p * t).sum(-1, keepdims=True)) / _temperature(temperature), dtype)


@_quiet
def norms(weights: ArrayLike, *, temperature: ArrayLike = 1.0) -> Norms:
    """Trace, Frobenius and spectral norm of ∂p/∂s, to full precision in saturated rows too.

    Parameters
    ----------
    weights, temperature
        As for `softmax_jacobian`.

    Returns
    -------
    Norms
        Three arrays of shape (...), in the weights' dtype (float64 arithmetic inside). All 0 for
        a fully masked row and for a single key.

    Raises
    ------
    ValueError
        As for `softmax_jacobian`.

    Notes
    -----
    1 − p_max loses every digit once p_max rounds to 1, so it is taken as the sum of the other
    weights. Builds an n × n matrix for each row. The spectral norm is at most
    2 p_max (1 − p_max)/T ≤ 1/(2T) (Gershgorin; Nair 2025, arXiv:2510.23012, for the 1/2).

    Examples
    --------
    >>> norms([0.5, 0.5])
    Norms(trace=array(0.5), frobenius=array(0.5), spectral=array(0.5))
    >>> float(norms([1.0, 1e-20]).trace)
    2e-20
    """
    given, dtype = _check_weights(weights)
    p = given.astype(np.float64)
    t = _temperature(temperature)[..., 0]
    jacobian = -p[..., :, None] * p[..., None, :]
    index = np.arange(p.shape[-1])
    jacobian[..., index, index] = p * _sum_of_others(p)
    # Relative to the largest entry, because the square of a tiny weight underflows.
    size = np.abs(jacobian).max(axis=(-2, -1), initial=0)
    unit = jacobian / np.where(size > 0, size, 1)[..., None, None]
    frobenius = np.sqrt((unit**2).sum(axis=(-2, -1)))
    spectral = np.linalg.eigvalsh(unit).max(axis=-1, initial=0)
    trace = np.trace(unit, axis1=-2, axis2=-1)
    return Norms(*(_round(np.asarray(x * size / t), dtype) for x in (trace, frobenius, spectral)))


@_quiet
def frobenius_norm(weights: ArrayLike, *, temperature: ArrayLike = 1.0) -> Array:
    """‖∂p/∂s‖_F alone, as in `norms` but without its n × n matrices.

    Σ_i p_i² [(1 − p_i)² + Σ_{j≠i} p_j²], over the largest entry as in `norms`.

    Examples
    --------
    >>> frobenius_norm([[0.5, 0.5], [1.0, 0.0]])
    array([0.5, 0. ])
    """
    given, dtype = _check_weights(weights)
    p = given.astype(np.float64)
    diagonal = p * _sum_of_others(p)
    size = diagonal.max(axis=-1, initial=0)  # no p_i p_j is larger than p_i times all others
    unit = np.where(size > 0, size, 1)[..., None]
    # Pairs with the largest weight, and pairs of the rest: no square of these overflows.
    rest = np.where(_largest(p), 0, p)
    squares = (rest / unit) ** 2
    pairs = squares * (2 * p.max(axis=-1, initial=0, keepdims=True) ** 2 + _sum_of_others(rest**2))
    frobenius = np.sqrt(((diagonal / unit) ** 2 + pairs).sum(axis=-1))
    return _round(np.asarray(frobenius * size / _temperature(temperature)[..., 0]), dtype)


def best_temperature(scores: ArrayLike) -> float:
    """Temperature at which one row's weights answer most to its scores: the largest ‖J‖_F/T.

    Parameters
    ----------
    scores : array_like, (n,)
        Finite scores of one row.

    Returns
    -------
    float
        0 where there is no largest, since the size grows without bound as T falls: for a tie at
        the top, and for a single key.

    Raises
    ------
    ValueError
        If the scores are not one row of finite numbers.

    Notes
    -----
    A lattice of temperatures from a twentieth of the top two scores' gap to ten times the whole
    spread finds the hill, golden sections its top. For two keys it is gap/1.5434, where
    x tanh(x/2) = 1.

    Examples
    --------
    >>> round(best_temperature([8, 4, 0]), 2)
    2.55
    """
    given = _widen(_real("scores", scores)).astype(np.float64)
    if given.ndim != 1 or given.size == 0 or not np.isfinite(given).all():
        raise ValueError(f"scores must be one row of finite numbers, got {given}")
    ordered = np.sort(given)
    gap = ordered[-1] - ordered[-2] if given.size > 1 else 0.0
    if gap < 1e-300:  # a tie, as far as its twentieth can be told from 0
        return 0.0

    def size(log_t: Array) -> Array:
        t = np.exp(log_t)
        return frobenius_norm(softmax(given, temperature=t[:, None]), temperature=t[:, None])

    lattice = np.linspace(np.log(gap) - np.log(20), np.log(np.ptp(given)) + np.log(10), 200)
    top = int(np.argmax(size(lattice)))
    low, high = lattice[max(top - 1, 0)], lattice[min(top + 1, len(lattice) - 1)]
    golden = (np.sqrt(5) - 1) / 2
    while high - low > 1e-7:  # below that the hill is flat to rounding
        left, right = high - golden * (high - low), low + golden * (high - low)
        at_left, at_right = size(np.array([left, right]))
        low, high = (low, right) if at_left > at_right else (left, high)
    return float(np.exp((low + high) / 2))


@_quiet
def attention_gradients(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    upstream: ArrayLike,
    *,
    scale: float | None = None,
    mask: ArrayLike | None = None,
    causal: bool = False,
    softcap: float | None = None,
) -> tuple[Array, Array, Array]:
    """Gradients of a loss by q, k and v, from its gradient by attention's output.

    Parameters
    ----------
    q, k, v : array_like, (..., n_q, d_k), (..., n_k, d_k) and (..., n_k, d_v)
        As for `attention`.
    upstream : array_like, (..., n_q, d_v)
        Gradient of the loss by the output, of the output's shape.
    scale, mask, causal, softcap
        As for `attention`.

    Returns
    -------
    dq, dk, dv : arrays
        Of the shapes of q, k and v (summed over axes that were broadcast), in their common dtype.
        Narrow formats are differentiated in float32 and rounded at the end. What is masked gets,
        and gives, no gradient.

    Raises
    ------
    ValueError
        As for `attention`, or if upstream is not real or not of the output's shape.

    Notes
    -----
    The chain back to q and k passes the softmax's Jacobian, softcap's 1 − tanh²(s/c) and the
    scale: 1/√d_k costs the gradient a factor as well as saving it from saturation.

    References
    ----------
    Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762.

    Examples
    --------
    >>> dq, dk, dv = attention_gradients([[0.0]], [[1.0], [-1.0]], [[1.0], [0.0]], [[1.0]])
    >>> dq, dv
    (array([[0.5]]), array([[0.5],
           [0.5]]))
    """
    q, k, v = _common_dtype(q=q, k=k, v=v)
    dtype = q.dtype
    q, k, v = _widen(q), _widen(k), _widen(v)
    forward = attention(q, k, v, scale=scale, mask=mask, causal=causal, softcap=softcap)
    upstream = _real("upstream", upstream).astype(q.dtype, copy=False)
    if upstream.shape != forward.output.shape:
        raise ValueError(
            f"upstream must have the output's shape {forward.output.shape}, got {upstream.shape}"
        )
    dv = forward.weights.mT @ upstream
    d_scores = softmax_jvp(forward.weights, upstream @ v.mT)
    if softcap is not None:
        d_scores = d_scores * (1 - np.tanh(forward.scaled / _number("softcap", softcap)) ** 2)
    d_scores = _round(d_scores * _factor(scale, q.shape[-1]), q.dtype)
    gradients = (d_scores @ k, q), (d_scores.mT @ q, k), (dv, v)
    dq, dk, dv = (_round(_unbroadcast(d, x.shape), dtype) for d, x in gradients)
    return dq, dk, dv


def _unbroadcast(gradient: Array, shape: tuple[int, ...]) -> Array:
    """Sum over the axes along which an input of this shape was repeated."""
    extra = gradient.ndim - len(shape)
    repeated = tuple(extra + i for i, n in enumerate(shape) if n == 1)
    summed: Array = gradient.sum(axis=(*range(extra), *repeated))
    return summed.reshape(shape)


def _sum_of_others(p: Array) -> Array:
    """1 − p for rows that sum to 1, without cancellation where p is the largest of its row."""
    if p.shape[-1] == 0:
        return p
    total = p.sum(axis=-1, keepdims=True)
    others: Array = total - p
    largest = _largest(p)
    rest = np.where(largest, 0, p).sum(axis=-1, keepdims=True)
    return np.where(largest, rest, others)


def _largest(p: Array) -> NDArray[np.bool_]:
    """Mark one largest weight in each row."""
    marked: NDArray[np.bool_] = np.arange(p.shape[-1]) == p.argmax(axis=-1, keepdims=True)
    return marked


def _check_weights(weights: ArrayLike) -> tuple[Array, DType]:
    """Return the weights in the accumulator's dtype, and their own."""
    given = _real("weights", weights, axes=1)
    p = _widen(given)
    _reject(~((p >= 0) & (p < np.inf)), p, "weights must be finite and ≥ 0")
    total = p.sum(axis=-1)
    tolerance = 0.15 if given.dtype.itemsize == 1 else 0.01
    wrong = (np.abs(total - 1) > tolerance) & (total != 0)
    _reject(wrong, total, "weights must sum to 1 along the last axis (0 if masked)")
    return p, given.dtype
