"""Scaled dot-product attention, one visible step after another.

    q kᵀ  →  × 1/√d_k  →  softcap  →  mask  →  softmax  →  · v

The second step is the one this lesson is about, so it is never folded into q.

A number format narrower than 32 bits (float16, bfloat16, float8) is treated as a matrix unit
treats it: a product or a sum is accumulated in float32, and the step's result is rounded once to
the format and held in it. What a format cannot hold is therefore seen where it happens: q kᵀ
beyond 65504 is an inf in float16 ``scores``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Attention", "attention", "log_softmax", "naive_softmax"]
__all__ += ["scaled_scores", "scores", "softmax"]

# Not NDArray[np.floating]: bfloat16 and float8 come from outside NumPy and are no subtypes of it.
Array = NDArray[Any]
Shape = tuple[int, ...]
DType = np.dtype[Any]

# inf and nan are results here, to be returned or reported with their place, not warned about.
_quiet = np.errstate(all="ignore")


@dataclass(frozen=True, eq=False)
class Attention:
    """Every step of one attention, each in the inputs' dtype.

    Attributes
    ----------
    scores : array, (..., n_q, n_k)
        q kᵀ, raw.
    scaled : array, (..., n_q, n_k)
        scores × scale.
    logits : array, (..., n_q, n_k)
        What the softmax sees: ``scaled`` after softcap and mask, −inf where masked.
    weights : array, (..., n_q, n_k)
        softmax of the logits over the keys; each row sums to 1, or to 0 if it is fully masked.
    output : array, (..., n_q, d_v)
        weights · v.
    """

    scores: Array
    scaled: Array
    logits: Array
    weights: Array
    output: Array


@_quiet
def scores(q: ArrayLike, k: ArrayLike) -> Array:
    """Dot product of every query with every key, q kᵀ.

    Parameters
    ----------
    q : array_like, (..., n_q, d_k)
        Queries.
    k : array_like, (..., n_k, d_k)
        Keys; leading axes broadcast with those of q.

    Returns
    -------
    array, (..., n_q, n_k)
        In the common floating dtype of q and k; integers count as float64.

    Raises
    ------
    ValueError
        If the shapes do not fit, d_k is 0, or the dtypes are not real or have no common one
        (float16 with bfloat16).

    Notes
    -----
    If the components of q and k are independent with mean 0 and variance 1, a score has variance
    d_k (Vaswani et al. 2017, section 3.2.1, footnote 4, arXiv:1706.03762).

    Examples
    --------
    >>> scores([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0], [0.0, 1.0]])
    array([[11., 17.,  2.]])
    """
    q, k = _common_dtype(q=q, k=k)
    _check_shapes(q, k)
    return _round(_widen(q) @ _widen(k).mT, q.dtype)


@_quiet
def scaled_scores(q: ArrayLike, k: ArrayLike, *, scale: float | None = None) -> Array:
    """Scores times 1/√d_k, so that their spread does not grow with d_k (Vaswani et al. 2017).

    Parameters
    ----------
    q, k : array_like, (..., n_q, d_k) and (..., n_k, d_k)
        As for `scores`.
    scale : float, optional
        Any finite factor; 1/√d_k if not given.

    Returns
    -------
    array, (..., n_q, n_k)
        The raw scores are rounded to the dtype first: scaling afterwards does not bring back a
        float16 score that has overflowed.

    Raises
    ------
    ValueError
        As for `scores`, and if scale is not one finite number.

    Examples
    --------
    >>> scaled_scores([[2.0, 2.0, 2.0, 2.0]], [[1.0, 1.0, 1.0, 1.0]])
    array([[4.]])
    """
    raw = scores(q, k)
    return _round(_widen(raw) * _factor(scale, np.shape(q)[-1]), raw.dtype)


@_quiet
def softmax(scores: ArrayLike, axis: int = -1, *, temperature: ArrayLike = 1.0) -> Array:
    """exp(s/T) over its sum, safe for scores of any size.

    Parameters
    ----------
    scores : array_like, at least 1-d
        Finite, or −inf for an entry that is masked.
    axis : int
        The axis whose entries share one unit of weight.
    temperature : array_like, positive
        T, in the unit of the scores. An array broadcasts against the scores (a sweep:
        shape (n, 1) with scores (m,) gives (n, m)), with size 1 along ``axis``.

    Returns
    -------
    array
        The scores' shape, broadcast with the temperature's, and their dtype. Slices that are all
        −inf are all 0, an empty axis stays empty.

    Raises
    ------
    ValueError
        If a score is nan or +inf (naming the first), the scores are 0-d or not real, the axis
        does not exist, or the temperature is not positive and finite.

    Notes
    -----
    Subtracting the maximum changes no weight, since exp(s − m) = exp(s)/exp(m), but keeps every
    exponential in [0, 1]. It is subtracted before the division, lest a small T overflow. Errors:
    Blanchard, Higham & Higham, IMA J. Numer. Anal. 41(4), 2021, doi:10.1093/imanum/draa038.

    Examples
    --------
    >>> softmax([8.0, 4.0, 0.0]).round(4)
    array([9.817e-01, 1.800e-02, 3.000e-04])
    >>> softmax([8.0, 4.0, 0.0], temperature=8).round(4)
    array([0.5065, 0.3072, 0.1863])
    """
    shifted, axis, dtype = _shift(scores, axis, temperature)
    exponentials = np.exp(shifted)
    return _round(exponentials / _total(exponentials, axis), dtype)


@_quiet
def log_softmax(scores: ArrayLike, axis: int = -1, *, temperature: ArrayLike = 1.0) -> Array:
    """Natural logarithm of `softmax`, finite also where the weight itself underflows to 0.

    Parameters, shapes and errors are those of `softmax`; a masked entry gives −inf.

    Examples
    --------
    >>> log_softmax(np.float32([0, -200]))
    array([   0., -200.], dtype=float32)
    """
    shifted, axis, dtype = _shift(scores, axis, temperature)
    return _round(shifted - np.log(_total(np.exp(shifted), axis)), dtype)


@_quiet
def naive_softmax(scores: ArrayLike, axis: int = -1) -> Array:
    """Exp over sum as written in the formula, to see where it breaks.

    Parameters
    ----------
    scores : array_like, at least 1-d
        Any real values, nan included.
    axis : int
        As for `softmax`.

    Returns
    -------
    array
        The scores' shape and dtype. Exponentials, sum and quotient are all taken in that dtype,
        and inf and nan come out as they are: inf/inf above ln(max), 0/0 where all underflow.

    Raises
    ------
    ValueError
        If the scores are 0-d or not real, or the axis does not exist.

    Examples
    --------
    >>> naive_softmax(np.float32([89, 88, 87]))
    array([nan,  0.,  0.], dtype=float32)
    """
    x = _real("scores", scores, axes=1)
    exponentials = np.exp(x)
    # dtype: a sum of float16 or bfloat16 must not be quietly widened, nor its overflow be hidden.
    quotient: Array = exponentials / exponentials.sum(axis=axis, keepdims=True, dtype=x.dtype)
    return quotient


@_quiet
def attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    *,
    scale: float | None = None,
    mask: ArrayLike | None = None,
    causal: bool = False,
    softcap: float | None = None,
) -> Attention:
    """Scaled dot-product attention, softmax(q kᵀ/√d_k) v, with all of its steps.

    Parameters
    ----------
    q, k, v : array_like, (..., n_q, d_k), (..., n_k, d_k) and (..., n_k, d_v)
        Queries, keys and values; leading axes broadcast.
    scale : float, optional
        Factor on the raw scores; 1/√d_k if not given.
    mask : array_like, optional
        Boolean, True where a query may attend; or floating, added to the logits, −inf where it
        may not. Its last two axes broadcast to (n_q, n_k), the others with the leading axes.
    causal : bool
        Query i sees key j only if j ≤ i, aligned at the top left whatever n_q and n_k are, as in
        PyTorch. With a mask, both must allow.
    softcap : float, optional
        c > 0: replaces a scaled score s by c·tanh(s/c) (Gemma 2, arXiv:2408.00118).

    Returns
    -------
    Attention
        A fully masked query has weights 0 and output 0; so has any query if n_k is 0.

    Raises
    ------
    ValueError
        If shapes or dtypes do not fit, an option is out of range, the mask is of integers or
        holds nan or +inf, or a logit that is not masked is nan or +inf, or sinks a row by
        overflowing to −inf.

    Notes
    -----
    What a mask hides is hidden even if its score is nan. Its value is not: 0 · nan is nan in the
    output, as in PyTorch.

    References
    ----------
    Vaswani et al. 2017, section 3.2.1, equation 1, arXiv:1706.03762.

    Examples
    --------
    >>> steps = attention([[8.0, 0, 0, 0]], np.eye(4)[:2], [[1.0], [0.0]])
    >>> steps.scores, steps.scaled, steps.weights.round(3)
    (array([[8., 0.]]), array([[4., 0.]]), array([[0.982, 0.018]]))
    """
    q, k, v = _common_dtype(q=q, k=k, v=v)
    leading = _check_shapes(q, k, v)
    raw = scores(q, k)
    scaled = _round(_widen(raw) * _factor(scale, q.shape[-1]), q.dtype)
    capped = scaled
    if softcap is not None:
        c = _number("softcap", softcap, positive=True)
        capped = _round(c * np.tanh(_widen(scaled) / c), q.dtype)
    allowed, bias = _mask(mask, causal, (*leading, raw.shape[-2], raw.shape[-1]))
    if not allowed.all() and not np.isinf(np.asarray(-np.inf).astype(q.dtype)):
        raise ValueError(f"with a mask, q must be in a format that has −inf, got {q.dtype}")
    # where, not addition: the score that is hidden may be inf or nan.
    logits = _round(np.where(allowed, _widen(capped) + bias, -np.inf), q.dtype)
    _check_logits(raw, capped, logits, allowed)
    weights = softmax(logits)
    output = _round(_widen(weights) @ _widen(v), q.dtype)
    return Attention(raw, scaled, logits, weights, output)


# --- behind the steps ---


def _shift(scores: ArrayLike, axis: int, temperature: ArrayLike) -> tuple[Array, int, DType]:
    """Return (s − max)/T, not yet rounded, with the axis counted from the end and the dtype."""
    given = _real("scores", scores, axes=1)
    x = _widen(given)
    _reject(~(x < np.inf), x, "scores must be finite or −inf (masked)")
    # From the end, because a temperature may bring axes of its own in front.
    axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim) - x.ndim
    top = x.max(axis=axis, keepdims=True, initial=-np.inf)
    top[top == -np.inf] = 0  # an all-masked slice stays −inf instead of becoming −inf + inf
    return _round((x - top) / _temperature(temperature, axis), x.dtype), axis, given.dtype


def _total(exponentials: Array, axis: int) -> Array:
    total: Array = exponentials.sum(axis=axis, keepdims=True)
    total[total == 0] = 1  # only an all-masked slice: its weights are 0, not 0/0
    return total


def _mask(mask: ArrayLike | None, causal: bool, shape: Shape) -> tuple[Array, Array]:
    """Return where a query may attend, and what is added to the logits there."""
    allowed: Array = np.ones(shape[-2:], dtype=np.bool)
    if causal:
        allowed = np.tri(*shape[-2:], dtype=np.bool)
    bias: Array = np.zeros((), np.float32)
    if mask is None:
        return allowed, bias
    mask = np.asarray(mask)
    if mask.dtype.kind in "iu":
        raise ValueError(
            "mask must be boolean (True = may attend) or floating (added to the logits), "
            f"got {mask.dtype}: 0 and 1 could mean either"
        )
    if mask.dtype != bool:
        bias = _widen(_real("mask", mask))
        _reject(~(bias < np.inf), bias, "an additive mask must be finite or −inf")
        mask = bias > -np.inf
    try:
        fits = np.broadcast_shapes(mask.shape, shape)[-2:] == shape[-2:]
    except ValueError:
        fits = False
    if not fits:  # it may bring leading axes of its own, but neither queries nor keys
        raise ValueError(f"mask must broadcast to (..., n_q, n_k)={shape}, got shape {mask.shape}")
    return allowed & mask, bias


def _check_logits(raw: Array, capped: Array, logits: Array, allowed: Array) -> None:
    seen = _widen(logits)
    # A score that overflowed to −inf looks masked. That is harmless beside a larger one, but a
    # row that has nothing else would pass for fully masked.
    sunk = (seen == -np.inf).all(axis=-1, keepdims=True) & allowed & (_widen(capped) == -np.inf)
    overflow = (
        f"; q kᵀ is not finite in {raw.dtype}: scale q before the product or use a wider format, "
        "unless q or k itself holds inf or nan"
    )
    hint = "" if np.isfinite(raw).all() else overflow
    _reject(~(seen < np.inf) | sunk, seen, "logits must be finite or −inf (masked)", hint)


def _widen(x: Array) -> Array:
    return x.astype(np.float32) if x.dtype.itemsize < 4 else x


@_quiet
def _round(x: Array, dtype: DType) -> Array:
    return x.astype(dtype, copy=False)


def _real(name: str, x: ArrayLike, axes: int = 0) -> Array:
    x = np.asarray(x)
    # Formats from outside NumPy (bfloat16, float8; int4 too) show only in what they cast to.
    foreign = x.dtype.kind in "Vf" and np.can_cast(x.dtype, np.float32)
    if not (x.dtype.kind in "biuf" or foreign):
        raise ValueError(f"{name} must hold real numbers, got dtype {x.dtype}")
    if x.ndim < axes:
        raise ValueError(f"{name} must have at least {axes} axis, got a single number")
    return x.astype(np.float64) if np.can_cast(x.dtype, np.int64) or x.dtype.kind == "u" else x


def _number(name: str, value: ArrayLike, *, positive: bool = False) -> np.float64:
    x = _real(name, value)
    if x.ndim or not np.isfinite(x) or (positive and not x > 0):
        kind = "positive and finite" if positive else "finite"
        raise ValueError(f"{name} must be one number, {kind}, got {value!r}")
    return np.float64(x)


def _factor(scale: float | None, d_k: int) -> np.float64:
    return 1 / np.sqrt(np.float64(d_k)) if scale is None else _number("scale", scale)


def _temperature(value: ArrayLike, axis: int = -1) -> Array:
    t = _real("temperature", value).astype(np.float64)
    _reject(~((t > 0) & (t < np.inf)), t, "temperature must be positive and finite")
    t = np.atleast_1d(t)
    if t.ndim >= -axis and t.shape[axis] != 1:
        raise ValueError(f"temperature must have size 1 along axis {axis}, got shape {t.shape}")
    return t


def _reject(bad: Array, x: Array, required: str, hint: str = "") -> None:
    if bad.any():
        index = tuple(int(i) for i in np.unravel_index(bad.argmax(), bad.shape))
        place = f" at index {index}" if index else ""
        raise ValueError(f"{required}, got {x[index]}{place}{hint}")


def _common_dtype(**arrays: ArrayLike) -> list[Array]:
    real = {name: _real(name, x) for name, x in arrays.items()}
    try:
        dtype = np.result_type(*(x.dtype for x in real.values()))
    except TypeError:
        got = ", ".join(f"{name} {x.dtype}" for name, x in real.items())
        raise ValueError(f"{', '.join(real)} must have a common dtype, got {got}") from None
    return [x.astype(dtype, copy=False) for x in real.values()]


def _check_shapes(q: Array, k: Array, v: Array | None = None) -> Shape:
    """Return the leading axes of q, k and v, broadcast."""
    arrays = [("q", q, "n_q, d_k"), ("k", k, "n_k, d_k")]
    arrays += [] if v is None else [("v", v, "n_k, d_v")]
    for name, x, axes in arrays:
        if x.ndim < 2:
            raise ValueError(f"{name} must have shape (..., {axes}), got {x.shape}")
    d_k, n_k = q.shape[-1], k.shape[-2]
    if d_k == 0:
        raise ValueError(f"q must have d_k of at least 1, got shape {q.shape}")
    if k.shape[-1] != d_k:
        raise ValueError(f"k must have d_k={d_k} columns like q, got shape {k.shape}")
    if v is not None and v.shape[-2] != n_k:
        raise ValueError(f"v must have n_k={n_k} rows like k, got shape {v.shape}")
    try:
        return np.broadcast_shapes(*(x.shape[:-2] for _, x, _ in arrays))
    except ValueError:
        got = ", ".join(f"{name} {x.shape}" for name, x, _ in arrays)
        raise ValueError(f"leading axes must broadcast, got {got}") from None
