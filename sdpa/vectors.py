"""Queries, keys and values: arrows in the plane, random draws, and a sentence's tokens.

What a dot product is made of: lengths and an angle, or products that are added up one by one.
A value out of its range raises a ValueError that says what was required and what came. Same
seed, same numbers.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpa.statistics import _integer

__all__ = ["angle_between", "from_angle", "head_width", "partial_sums", "polar_score"]
__all__ += ["sample_vectors", "shadow", "token_vectors"]

Floats = NDArray[np.float64]


def from_angle(length: ArrayLike, degrees: ArrayLike) -> Floats:
    """Vectors in the plane of these lengths, turned this far from the first axis.

    Parameters
    ----------
    length : array_like, (...)
        Finite lengths, at least 0.
    degrees : array_like, (...)
        Finite angles in degrees, counter-clockwise; broadcasts with ``length``.

    Returns
    -------
    array, (..., 2)
        Exactly 0 where a component vanishes: cos 90° is 0 here, not 6·10⁻¹⁷.

    Raises
    ------
    ValueError
        If a length or an angle is out of its range.

    Examples
    --------
    >>> from_angle(2, [0, 90, 180])
    array([[ 2.,  0.], [ 0.,  2.], [-2.,  0.]])
    """
    r, angle = _lengths("length", length), _finite("degrees", degrees)
    return np.stack([r * _cosine(angle), r * _sine(angle)], axis=-1) + 0.0  # no −0


def polar_score(length_q: ArrayLike, length_k: ArrayLike, degrees: ArrayLike) -> Floats:
    """Dot product of two vectors from their lengths and the angle between them, ‖q‖‖k‖cos θ.

    Parameters
    ----------
    length_q, length_k : array_like, (...)
        Finite lengths, at least 0.
    degrees : array_like, (...)
        Finite angles in degrees; all three broadcast.

    Returns
    -------
    array, (...)
        Exactly 0 at a right angle.

    Raises
    ------
    ValueError
        If a length or an angle is out of its range.

    Examples
    --------
    >>> polar_score(2, 3, [0, 60, 90, 180]).round(12)
    array([ 6.,  3.,  0., -6.])
    """
    q, k = _lengths("length_q", length_q), _lengths("length_k", length_k)
    return np.asarray(q * k * _cosine(_finite("degrees", degrees)) + 0.0)


def shadow(q: ArrayLike, k: ArrayLike) -> Floats:
    """Orthogonal projection of k on the line of q, (q·k/‖q‖²) q.

    Parameters
    ----------
    q, k : array_like, (..., d)
        Vectors that broadcast; q not 0.

    Returns
    -------
    array, (..., d)

    Raises
    ------
    ValueError
        If the shapes do not fit or a q is 0.

    Examples
    --------
    >>> shadow([2, 0], [3, 4])
    array([3., 0.])
    """
    a, b = _pair(q, k)
    squared = (a * a).sum(axis=-1, keepdims=True)
    if not (squared > 0).all():
        raise ValueError("q must not be 0, got a vector of length 0")
    return np.asarray((a * b).sum(axis=-1, keepdims=True) / squared * a)


def angle_between(q: ArrayLike, k: ArrayLike) -> Floats:
    """Angle between vectors of any width in degrees, from 0 to 180.

    Parameters
    ----------
    q, k : array_like, (..., d)
        Vectors that broadcast, none of them 0.

    Returns
    -------
    array, (...)

    Raises
    ------
    ValueError
        If the shapes do not fit or a vector is 0.

    Notes
    -----
    By Kahan's 2 atan2(‖q̂ − k̂‖, ‖q̂ + k̂‖), which keeps its digits where cos θ is near ±1.

    Examples
    --------
    >>> angle_between([1, 0], [[1, 1], [0, 5], [-2, 0]]).round(12)
    array([ 45.,  90., 180.])
    """
    a, b = _pair(q, k)
    lengths = [np.linalg.norm(x, axis=-1, keepdims=True) for x in (a, b)]
    if not all((length > 0).all() for length in lengths):
        raise ValueError("q and k must not be 0, got a vector of length 0")
    unit_q, unit_k = a / lengths[0], b / lengths[1]
    apart = np.linalg.norm(unit_q - unit_k, axis=-1)
    together = np.linalg.norm(unit_q + unit_k, axis=-1)
    return np.asarray(np.degrees(2 * np.arctan2(apart, together)))


def sample_vectors(n: int, d_k: int, *, seed: int, stream: int = 0) -> Floats:
    """Draw vectors of independent components with mean 0 and variance 1, normal ones.

    The premise of Vaswani et al. 2017, footnote 4 (arXiv:1706.03762).

    Parameters
    ----------
    n, d_k : int
        How many vectors, at least 0, and their length, at least 1.
    seed : int
        Not negative.
    stream : int
        Not negative; another stream of one seed is independent of it: 0 for q, 1 for k, 2 for v.

    Returns
    -------
    array, (n, d_k)
        The first components are the same at every d_k, so a wider head goes on where a narrower
        one ends.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> sample_vectors(3, 4, seed=0).shape
    (3, 4)
    >>> bool((sample_vectors(3, 4, seed=0)[:, :2] == sample_vectors(3, 2, seed=0)).all())
    True
    """
    rng = np.random.default_rng([_integer("seed", seed, 0), _integer("stream", stream, 0)])
    # A component at a time: so a wider draw only adds rows.
    drawn = rng.standard_normal((_integer("d_k", d_k), _integer("n", n, 0)))
    return np.ascontiguousarray(drawn.T)


def token_vectors(tokens: Sequence[str], width: int, *, seed: int, stream: int = 0) -> Floats:
    """Draw one vector for each token; equal tokens get equal vectors, as without positions.

    Parameters
    ----------
    tokens : sequence of str
        A sentence's words.
    width, seed, stream : int
        As for `sample_vectors`.

    Returns
    -------
    array, (len(tokens), width)

    Raises
    ------
    ValueError
        If a number is out of its range, or the tokens are one text.

    Examples
    --------
    >>> the, cat, again = token_vectors(["the", "cat", "the"], 4, seed=0)
    >>> bool((the == again).all()), bool((the == cat).any())
    (True, False)
    """
    if isinstance(tokens, str):
        raise ValueError(f"tokens must be a sequence of words, got one text {tokens!r}")
    place = {word: i for i, word in enumerate(dict.fromkeys(tokens))}
    drawn = sample_vectors(len(place), width, seed=seed, stream=stream)
    return drawn[[place[word] for word in tokens]]


def partial_sums(q: ArrayLike, k: ArrayLike) -> tuple[Floats, Floats]:
    """Products q_i k_i, and their sum after each of them; the last one is the score.

    Parameters
    ----------
    q, k : array_like, (..., d_k)
        Vectors that broadcast, d_k at least 1.

    Returns
    -------
    products, sums : array, (..., d_k)

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Notes
    -----
    For independent components of mean 0 and variance 1 the sums are a random walk: after i
    products the variance is i.

    Examples
    --------
    >>> partial_sums([1, 2, 3], [4, -5, 6])
    (array([ 4., -10., 18.]), array([ 4., -6., 12.]))
    """
    a, b = _pair(q, k)
    products = a * b
    return products, np.cumsum(products, axis=-1)


def head_width(d_model: int, heads: int) -> int:
    """Width d_k of each head when the heads share d_model among them, d_model/heads.

    Parameters
    ----------
    d_model, heads : int
        At least 1; heads divides d_model.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If heads does not divide d_model, or one of them is below 1.

    Examples
    --------
    >>> head_width(512, 8)  # Vaswani et al. 2017, section 3.2.2
    64
    """
    width, rest = divmod(_integer("d_model", d_model), _integer("heads", heads))
    if rest:
        raise ValueError(f"heads must divide d_model={d_model}, got {heads}")
    return width


def _cosine(degrees: Floats) -> Floats:
    return _sine(90.0 - degrees)


def _sine(degrees: Floats) -> Floats:
    """Fold the angle into −90° … 90° first: there 0° and ±90° are exact."""
    folded = np.remainder(degrees + 180.0, 360.0) - 180.0
    folded = np.where(folded > 90, 180.0 - folded, folded)
    folded = np.where(folded < -90, -180.0 - folded, folded)
    return np.asarray(np.sin(np.radians(folded)))


def _pair(q: ArrayLike, k: ArrayLike) -> tuple[Floats, Floats]:
    a, b = np.asarray(q, dtype=np.float64), np.asarray(k, dtype=np.float64)
    fits = a.ndim > 0 and b.ndim > 0 and a.shape[-1] == b.shape[-1] > 0
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"q and k must have one length d_k ≥ 1 and broadcast, got {a.shape} and {b.shape}"
        )
    return a, b


def _finite(name: str, value: ArrayLike) -> Floats:
    x = np.asarray(value, dtype=np.float64)
    if not np.isfinite(x).all():
        raise ValueError(f"{name} must be finite, got {x[~np.isfinite(x)].flat[0]}")
    return x


def _lengths(name: str, value: ArrayLike) -> Floats:
    x = _finite(name, value)
    if (x < 0).any():
        raise ValueError(f"{name} must be at least 0, got {x[x < 0].flat[0]}")
    return x
