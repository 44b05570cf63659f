"""Queries and keys of a trained encoder, and how far its scores spread.

The asset holds what all-MiniLM-L6-v2 (six layers of twelve heads, d_k = 32) computes on three
sentences; assets/README.md says where it comes from. Layers and heads are counted from 0. A
*row* is one query's scores against the keys of its own sentence, which is what softmax sees;
its variance is taken around the row's mean, over its keys (divided by their number).

A layer, head or sentence that does not exist raises a ValueError that says what was required
and what came.
"""

import math
import operator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpa.attention import scores, softmax
from sdpa.statistics import effective_keys, entropy

Floats = NDArray[np.float64]

ASSET = Path(__file__).parents[1] / "assets" / "heads.npz"
LAYERS, HEADS, D_K = 6, 12, 32
SENTENCE_NAMES = ("animal", "cup", "letter")  # each the noun that its "it" stands for
LADDER_STEPS = (
    "independent, variance 1",
    "variance as measured",
    "component by component",
    "with the means of q",
    "with correlations",
    "keys of one sentence",
    "measured",
)


@dataclass(frozen=True)
class Head:
    """One head on one sentence.

    Parameters
    ----------
    tokens : tuple of str, n
        The sentence's word pieces, [CLS] first and [SEP] last.
    q, k : array of float64, (n, 32)
        Its queries and keys, bias included, not divided by anything; stored in float16.
    """

    tokens: tuple[str, ...]
    q: Floats
    k: Floats

    def row(self, token: str) -> int:
        """Give the place of a token, the first if it comes twice.

        Raises
        ------
        ValueError
            If the sentence has no such token.
        """
        if token not in self.tokens:
            raise ValueError(f"token must be one of {', '.join(self.tokens)}, got {token!r}")
        return self.tokens.index(token)


@dataclass(frozen=True)
class Measured:
    """What rows of raw scores do, averaged over the rows; arrays where many heads are asked for.

    Parameters
    ----------
    row_variance : float
        Variance of the raw scores within a row.
    entropy, effective_keys, top_weight : float
        Of softmax(s/√d_k): entropy as a share of ln n, exp of the entropy, largest weight.
    entropy_undivided, effective_keys_undivided, top_weight_undivided : float
        Of softmax(s), the divisor taken away.
    """

    row_variance: Any
    entropy: Any
    effective_keys: Any
    top_weight: Any
    entropy_undivided: Any
    effective_keys_undivided: Any
    top_weight_undivided: Any


@dataclass(frozen=True)
class _Asset:
    sentences: tuple[str, ...]
    tokens: tuple[tuple[str, ...], ...]
    q: tuple[Floats, ...]  # a sentence each, (layers, heads, n, d_k)
    k: tuple[Floats, ...]


@lru_cache(maxsize=1)
def _asset() -> _Asset:
    with np.load(ASSET, allow_pickle=False) as file:
        ends = file["lengths"].cumsum()[:-1]
        q, k = (np.split(file[name].astype(np.float64), ends, axis=2) for name in "qk")
        for array in (*q, *k):
            array.flags.writeable = False
        tokens = np.split(file["tokens"], ends)
        return _Asset(
            tuple(map(str, file["sentences"])),
            tuple(tuple(map(str, part)) for part in tokens),
            tuple(q),
            tuple(k),
        )


def sentence_text(sentence: str) -> str:
    """Give a sentence in full by its short name.

    Examples
    --------
    >>> sentence_text("animal")
    "The animal didn't cross the street because it was too tired."
    """
    return _asset().sentences[_sentence(sentence)]


def head(layer: int, head: int, sentence: str) -> Head:
    """Give one head's queries and keys on one sentence.

    Parameters
    ----------
    layer, head : int
        0 to 5 and 0 to 11.
    sentence : str
        One of ``SENTENCE_NAMES``.

    Examples
    --------
    >>> it = head(3, 1, "animal")
    >>> row = softmax(scores(it.q, it.k)[it.row("it")], temperature=math.sqrt(D_K))
    >>> it.tokens[row.argmax()], float(row.max().round(3))
    ('animal', 0.677)
    """
    at, place = _head(layer, head), _sentence(sentence)
    asset = _asset()
    return Head(asset.tokens[place], asset.q[place][at], asset.k[place][at])


def measured(layer: int, head: int, sentence: str | None = None) -> Measured:
    """Measure one head's rows, on one sentence or on all three.

    Parameters
    ----------
    layer, head : int
        0 to 5 and 0 to 11.
    sentence : str, optional
        One of ``SENTENCE_NAMES``; every row of all three if not given.

    Returns
    -------
    Measured

    Notes
    -----
    Without the divisor nothing else is changed: an ablation of a network that was trained with
    it, not what a network trained without it would do.

    Examples
    --------
    >>> one = measured(3, 1, "animal")
    >>> print(round(one.effective_keys, 1), round(one.effective_keys_undivided, 1))
    4.2 1.1
    """
    at, every = _head(layer, head), measured_everywhere(sentence)
    return Measured(**{name: float(array[at]) for name, array in vars(every).items()})


def measured_everywhere(sentence: str | None = None) -> Measured:
    """Measure all heads: as `measured`, with arrays of shape (6, 12).

    Examples
    --------
    >>> measured_everywhere().row_variance.shape
    (6, 12)
    """
    return _measured(None if sentence is None else _sentence(sentence))


@lru_cache(maxsize=len(SENTENCE_NAMES) + 1)
def _measured(place: int | None) -> Measured:
    asset = _asset()
    found: dict[str, list[Floats]] = {name: [] for name in Measured.__dataclass_fields__}
    for i in range(len(SENTENCE_NAMES)) if place is None else [place]:
        raw = scores(asset.q[i], asset.k[i])
        found["row_variance"].append(raw.var(axis=-1))
        for ending, divisor in (("", math.sqrt(D_K)), ("_undivided", 1.0)):
            weights = softmax(raw, temperature=divisor)
            found[f"entropy{ending}"].append(entropy(weights) / math.log(raw.shape[-1]))
            found[f"effective_keys{ending}"].append(effective_keys(weights))
            found[f"top_weight{ending}"].append(weights.max(axis=-1))
    return Measured(
        **{name: np.concatenate(rows, axis=-1).mean(axis=-1) for name, rows in found.items()}
    )


def ladder(layer: int, head: int) -> Floats:
    """Predict one head's within-row variance, from footnote 4 of the paper up to the measured one.

    Parameters
    ----------
    layer, head : int
        0 to 5 and 0 to 11.

    Returns
    -------
    array of float64, (7,)
        A variance for each of ``LADDER_STEPS``, over the tokens of all three sentences:

        0. d_k: independent components with mean 0 and variance 1;
        1. d_k Var(q) Var(k), each over all tokens and components at once;
        2. Σ_i Var(q_i) Var(k_i), each component over the tokens, around its own mean;
        3. Σ_i E[q_i²] Var(k_i): a query's mean counts, a key's shifts the whole row;
        4. tr(E[q qᵀ] Cov(k)): components may be correlated;
        5. the same with Cov(k) around the mean of each sentence;
        6. measured: the mean over the rows.

    Notes
    -----
    For one query a row's variance is exactly qᵀ Cov(k) q over the keys of its sentence. Step 5
    differs from 6 only in that it averages queries and keys apart.

    Examples
    --------
    >>> ladder(3, 1).round(1)
    array([ 32. ,  88.5,  31.6,  56.5, 110.1, 107.2, 112.4])
    """
    steps: Floats = ladders()[_head(layer, head)]
    return steps


@lru_cache(maxsize=1)
def ladders() -> Floats:
    """Predict the within-row variance of all heads: as `ladder`, of shape (6, 12, 7).

    Examples
    --------
    >>> np.sqrt(np.median(ladders(), axis=(0, 1))).round(2)
    array([5.66, 6.04, 3.65, 5.03, 8.05, 7.98, 7.74])
    """
    asset = _asset()
    q, k = np.concatenate(asset.q, axis=2), np.concatenate(asset.k, axis=2)
    n = q.shape[2]
    around = k - k.mean(axis=2, keepdims=True)
    nearer = np.concatenate([x - x.mean(axis=2, keepdims=True) for x in asset.k], axis=2)
    second = q.mT @ q / n
    steps = np.stack(
        [
            np.full((LAYERS, HEADS), float(D_K)),
            D_K * q.var(axis=(2, 3)) * k.var(axis=(2, 3)),
            (q.var(axis=2) * k.var(axis=2)).sum(axis=-1),
            ((q**2).mean(axis=2) * k.var(axis=2)).sum(axis=-1),
            (second * (around.mT @ around / n)).sum(axis=(2, 3)),
            (second * (nearer.mT @ nearer / n)).sum(axis=(2, 3)),
            measured_everywhere().row_variance,
        ],
        axis=-1,
    )
    steps.flags.writeable = False
    return steps


def _head(layer: int, head: int) -> tuple[int, int]:
    return _index("layer", layer, LAYERS), _index("head", head, HEADS)


def _index(name: str, value: int, count: int) -> int:
    try:
        index = operator.index(value)
    except TypeError:
        index = -1
    if not 0 <= index < count:
        raise ValueError(f"{name} must be an integer from 0 to {count - 1}, got {value!r}")
    return index


def _sentence(name: str) -> int:
    if name not in SENTENCE_NAMES:
        raise ValueError(f"sentence must be one of {', '.join(SENTENCE_NAMES)}, got {name!r}")
    return SENTENCE_NAMES.index(name)
