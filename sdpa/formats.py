"""Number formats: where exp leaves them, and softmax in them step by step.

A format is given by name, as a NumPy dtype or as a `Format`. A value out of its range raises a
ValueError that says what was required and what came.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]  # bfloat16 and float8 come from outside NumPy: no subtypes of np.floating

_quiet = np.errstate(all="ignore")


@dataclass(frozen=True)
class Format:
    """A binary floating-point format.

    Attributes
    ----------
    name, dtype : str and numpy.dtype
        The same in words and for arrays.
    max, tiny, smallest : float
        Largest finite number; smallest one of full precision; smallest above 0.
    eps : float
        From 1 to the next number.
    has_inf : bool
        Whether overflow gives inf; float8_e4m3fn has none and gives nan.
    """

    name: str
    dtype: np.dtype[Any]
    max: float
    tiny: float
    smallest: float
    eps: float
    has_inf: bool


@_quiet
def _describe(dtype: np.dtype[Any]) -> Format:
    info: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return Format(
        name=dtype.name,
        dtype=dtype,
        max=float(info.max),
        tiny=float(info.tiny),
        smallest=float(info.smallest_subnormal),
        eps=float(info.eps),
        has_inf=bool(np.isinf(np.array(np.inf).astype(dtype))),
    )


_NARROW = (ml_dtypes.bfloat16, np.float16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn)
_ALL = [_describe(np.dtype(scalar)) for scalar in (np.float64, np.float32, *_NARROW)]
FORMATS = {format.name: format for format in _ALL}

FormatLike: TypeAlias = Format | str | np.dtype[Any] | type


def as_format(format: FormatLike) -> Format:
    """Look up the `Format` of a name, a dtype or a scalar type.

    Examples
    --------
    >>> as_format(np.float16).max, as_format("bfloat16").eps
    (65504.0, 0.0078125)
    """
    if isinstance(format, Format):
        return format
    name = format
    if isinstance(format, np.dtype | type):
        try:
            name = np.dtype(format).name
        except TypeError:
            name = repr(format)
    if not isinstance(name, str) or name not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {name!r}")
    return FORMATS[name]


def exp_overflow_threshold(format: FormatLike, keys: int = 1) -> float:
    """Score above which exp leaves the format: ln of its largest finite number.

    Or, where so many keys share that score, above which the exact sum of their exps does: ln of
    the largest number over ``keys``, at least 1.

    Raises
    ------
    ValueError
        If the format is unknown, or ``keys`` is below 1.

    Examples
    --------
    >>> [round(exp_overflow_threshold(name), 4) for name in ("float32", "float16")]
    [88.7228, 11.0899]
    >>> round(exp_overflow_threshold("float16", keys=8), 4)
    9.0104
    """
    if keys < 1:
        raise ValueError(f"keys must be an integer ≥ 1, got {keys!r}")
    return math.log(as_format(format).max) - math.log(keys)


def exp_underflow_threshold(format: FormatLike) -> float:
    """Score below which exp rounds to 0: ln of half the smallest number.

    Examples
    --------
    >>> [round(exp_underflow_threshold(name), 2) for name in ("float32", "float16")]
    [-103.97, -17.33]
    """
    return math.log(as_format(format).smallest) - math.log(2)


def saturation_gap(format: FormatLike) -> float:
    """Gap between two scores from which the larger weight rounds to exactly 1, ln(2/eps).

    There exp(−gap) is eps/2, and 1 + eps/2, the sum, rounds to 1.

    Examples
    --------
    >>> [round(saturation_gap(name), 2) for name in ("float32", "bfloat16")]
    [16.64, 5.55]
    """
    return math.log(2 / as_format(format).eps)


Step: TypeAlias = Literal["scores", "shifted", "exponentials", "total", "weights"]
Kind: TypeAlias = Literal["overflow", "underflow", "collapsed", "invalid", "zero total"]


@dataclass(frozen=True)
class Fault:
    """What went wrong at one step of a softmax.

    Attributes
    ----------
    step : str
        "scores", "shifted", "exponentials", "total" or "weights".
    index : int or None
        Of the entry, the first one if several are meant; None for the total.
    kind : str
        "overflow": beyond the largest number. "underflow": rounded to 0. "collapsed": different
        scores rounded to the same number. "invalid": nan. "zero total": nothing to divide by.
    message : str
        One sentence with the numbers in it.
    harmless : bool
        Whether the weights come out right all the same.
    """

    step: Step
    index: int | None
    kind: Kind
    message: str
    harmless: bool = False


@dataclass(frozen=True, eq=False)
class SoftmaxSteps:
    """Softmax in one format; every number is of the format's dtype.

    Attributes
    ----------
    format : Format
        The format.
    scores, shifted, exponentials, weights : array, (n,)
        Scores rounded to the format; less their maximum, or unchanged; exp; over the total.
    maximum : scalar or None
        None where it is not subtracted.
    total : scalar
        Sum of the exponentials.
    faults : tuple of Fault
        In the order of the steps.
    """

    format: Format
    scores: Array
    maximum: Any
    shifted: Array
    exponentials: Array
    total: Any
    weights: Array
    faults: tuple[Fault, ...]

    @property
    def first_fault(self) -> Fault | None:
        """The first fault that made an inf or nan and did harm, or None."""
        broken = (f for f in self.faults if f.kind in ("overflow", "invalid") and not f.harmless)
        return next(broken, None)


@_quiet
def softmax_steps(scores: ArrayLike, format: FormatLike, *, subtract_max: bool) -> SoftmaxSteps:
    """Softmax with each step rounded to a format, and what went wrong where.

    Parameters
    ----------
    scores : array_like, (n,)
        n ≥ 1 finite scores, or −inf where masked.
    format : str, dtype or Format
        One of ``FORMATS``.
    subtract_max : bool
        Whether the maximum is subtracted first.

    Returns
    -------
    SoftmaxSteps
        As the format has it: all −inf gives −inf − (−inf) = nan, not the zeros of a safe softmax.

    Raises
    ------
    ValueError
        If the scores are not one row of numbers, one is nan or +inf, or the format is unknown.

    Notes
    -----
    The sum is NumPy's. bfloat16 and float8 round after each addition (256 ones of bfloat16 and
    one more are still 256); float16 adds up in float32 and rounds once.

    Examples
    --------
    >>> steps = softmax_steps([12, 11, 10], "float16", subtract_max=False)
    >>> steps.first_fault.message
    "exp(12) = 1.63e5 is above float16's largest number, 65504: it becomes inf"
    >>> softmax_steps([12, 11, 10], "float16", subtract_max=True).weights
    array([0.6655, 0.2448, 0.0901], dtype=float16)
    """
    f = as_format(format)
    given = np.asarray(scores)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "biufV":
        got = f"{given.dtype}, shape {given.shape}"
        raise ValueError(f"scores must be one row of at least one real number, got {got}")
    given = given.astype(np.float64)
    if np.isnan(given).any() or np.isposinf(given).any():
        raise ValueError(f"scores must be finite or −inf, got {given}")
    rounded = given.astype(f.dtype)
    maximum = rounded.max() if subtract_max else None
    shifted = rounded - maximum if subtract_max else rounded
    exponentials = np.exp(shifted)
    total = exponentials.sum()
    weights = exponentials / total
    steps = SoftmaxSteps(f, rounded, maximum, shifted, exponentials, total, weights, ())
    return replace(steps, faults=(*_rounding(f, given, steps), *_arithmetic(f, steps)))


def _rounding(f: Format, given: Array, steps: SoftmaxSteps) -> Iterator[Fault]:
    rounded = steps.scores.astype(np.float64)
    for i in np.flatnonzero(given != rounded):
        before, after = _text(given[i]), _text(rounded[i])
        if np.isneginf(given[i]):
            yield Fault("scores", int(i), "invalid", f"{f.name} has no {before}: it becomes nan")
        elif not np.isfinite(rounded[i]):
            text = f"score {before} is beyond {f.name}'s largest number, {_text(f.max)}: "
            harmless = bool(np.isneginf(rounded[i]))  # its exponential would have been 0 anyway
            yield Fault("scores", int(i), "overflow", text + f"it becomes {after}", harmless)
    for value in np.unique(rounded[np.isfinite(rounded)]):
        same = np.flatnonzero(rounded == value)
        different = [_text(x) for x in dict.fromkeys(given[same])]
        if len(different) > 1:
            text = f"{', '.join(different[:-1])} and {different[-1]} become {_text(value)}"
            yield Fault("scores", int(same[0]), "collapsed", f"{text} in {f.name}")


def _arithmetic(f: Format, steps: SoftmaxSteps) -> Iterator[Fault]:
    arrays = (steps.scores, steps.shifted, steps.exponentials, steps.weights)
    scores, shifted, exponentials, weights = (x.astype(np.float64) for x in arrays)
    total = float(steps.total)
    largest = f"{f.name}'s largest number, {_text(f.max)}"
    # Only where nan or inf is new: what a step passes on is not its own fault.
    top = scores.max()
    for i in np.flatnonzero(~np.isfinite(shifted) & (scores != shifted) & ~np.isnan(top)):
        subtrahend = f"({_text(top)})" if top < 0 else _text(top)
        difference = f"{_text(scores[i])} − {subtrahend}"
        if np.isfinite(scores[i]) and np.isfinite(top):
            harmless = bool(np.isneginf(shifted[i]))
            text = f"{difference} is beyond {largest}: it becomes {_text(shifted[i])}"
            yield Fault("shifted", int(i), "overflow", text, harmless)
        elif np.isnan(shifted[i]):
            yield Fault("shifted", int(i), "invalid", f"{difference} = nan")
    for i in np.flatnonzero(np.isfinite(shifted)):
        if not np.isfinite(exponentials[i]):
            text = f"{_exp_text(shifted[i])} is above {largest}: it becomes "
            text += _text(exponentials[i])
            yield Fault("exponentials", int(i), "overflow", text)
        elif exponentials[i] == 0:
            text = f"{_exp_text(shifted[i])} rounds to 0 in {f.name}, "
            text += "and so do all the others" if total == 0 else "harmless as other terms remain"
            yield Fault("exponentials", int(i), "underflow", text, harmless=total != 0)
    if not np.isfinite(total) and np.isfinite(exponentials).all():
        exact = f"{sum(map(Decimal, exponentials.tolist())):.3g}".replace("e+", "e")
        text = f"the sum of the exponentials, {exact}, is above {largest}: it becomes "
        yield Fault("total", None, "overflow", text + _text(total))
    if total == 0:
        yield Fault("total", None, "zero total", "every exponential is 0, so there is no total")
    for i in np.flatnonzero(~np.isnan(exponentials) & ~math.isnan(total)):
        quotient = f"{_text(exponentials[i])}/{_text(total)}"
        if np.isnan(weights[i]):
            yield Fault("weights", int(i), "invalid", f"{quotient} = nan")
        elif weights[i] == 0 and exponentials[i] > 0:
            harmless = math.isfinite(total)
            text = f"{quotient} rounds to 0 in {f.name}"
            yield Fault("weights", int(i), "underflow", text, harmless)


def _text(x: float) -> str:
    return f"{x:.6g}".replace("-", "−").replace("e+0", "e").replace("e+", "e")


def _exp_text(x: float) -> str:
    # Decimal: the message is about numbers that no float holds.
    value = f" = {Decimal(float(x)).exp():.3g}" if abs(x) < 1e6 else ""
    return f"exp({_text(x)}){value}".replace("-", "−").replace("e+", "e")


@dataclass(frozen=True, eq=False)
class DotProductSteps:
    """q·k for equal components, term by term in one format; see `dot_product_steps`.

    Attributes
    ----------
    format : Format
        The format.
    divided, product : scalar
        Component of q over the divisor; times the component of k.
    partial_sums : array, (d_k,)
        After each term.
    score : scalar
        The last of them.
    overflow_at : int or None
        After how many terms the sum is no longer finite.
    """

    format: Format
    divided: Any
    product: Any
    partial_sums: Array
    score: Any
    overflow_at: int | None


@_quiet
def dot_product_steps(
    d_k: int, component: float, format: FormatLike, *, divisor: float = 1.0
) -> DotProductSteps:
    """Raw score of an aligned pair, q_i = k_i = component, with q divided before.

    Parameters
    ----------
    d_k : int
        Length of q and k.
    component : float
        Value of every component.
    format : str, dtype or Format
        One of ``FORMATS``; the sum is rounded to it after every term.
    divisor : float
        1, or √d_k to scale q before the product is formed.

    Returns
    -------
    DotProductSteps

    Examples
    --------
    >>> float(dot_product_steps(64, 40, "float16").score)
    inf
    >>> float(dot_product_steps(64, 40, "float16", divisor=8).score)
    12800.0
    """
    f = as_format(format)
    _positive("divisor", divisor)
    if not math.isfinite(component):
        raise ValueError(f"component must be a finite number, got {component!r}")
    terms = np.full(_positive_integer("d_k", d_k), component).astype(f.dtype)
    divided = terms / np.array(divisor).astype(f.dtype)
    products = divided * terms
    sums = np.cumsum(products)
    broken = np.flatnonzero(~np.isfinite(sums.astype(np.float64)))
    overflow_at = int(broken[0]) + 1 if broken.size else None
    return DotProductSteps(f, divided[0], products[0], sums, sums[-1], overflow_at)


def aligned_component_limit(d_k: int, format: FormatLike, *, divisor: float = 1.0) -> float:
    """Largest component of an aligned pair, q_i = k_i, whose score still fits the format.

    √(max · divisor / d_k): dividing q by √d_k before the product raises it d_k^¼-fold.

    Examples
    --------
    >>> [round(aligned_component_limit(64, "float16", divisor=c), 1) for c in (1, 8)]
    [32.0, 90.5]
    """
    d = _positive_integer("d_k", d_k)
    return math.sqrt(as_format(format).max) * math.sqrt(_positive("divisor", divisor) / d)


def _positive_integer(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")
    return int(value)


def _positive(name: str, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive finite number, got {value!r}")
    return float(value)
