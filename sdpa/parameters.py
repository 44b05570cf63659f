"""One row for each thing a reader can move: it serves widget, link, command line and tests.

A row's ``key`` is also the name in a link (``?d_k=256``), so a key that has been published
stays. Every row knows all of its values, or how to read one from text, and says in one
sentence what it wanted when it gets something else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Value: TypeAlias = Any  # int, float, str or tuple of float, as the row's values say

MOST_SCORES = 64
LARGEST_SCORE = 100_000.0  # far beyond any format's exp, and still fit for an axis


@dataclass(frozen=True)
class Parameter:
    """Something a reader can move.

    Parameters
    ----------
    key : str
        Name in links, widgets and view functions.
    label : str
        What the reader sees beside the control.
    default : int, float or str
        The value when nothing else is said; for ``kind="scores"`` the text.
    values : tuple
        Every value, in order; empty for ``kind="scores"``, which is typed in.
    kind : {"slider", "choice", "scores"}
        A slider can be dragged, so it has sweeps; a choice is picked; scores are typed.
    help : str
        One sentence on what it means.
    """

    key: str
    label: str
    default: Value
    values: tuple[Value, ...] = ()
    kind: Literal["slider", "choice", "scores"] = "slider"
    help: str = ""

    def __post_init__(self) -> None:
        if self.kind == "scores":
            parse_scores(self.default)
        elif self.default not in self.values:
            raise ValueError(f"{self.key}: the default {self.default!r} must be one of its values")

    @property
    def initial(self) -> Value:
        """The default as a view takes it: for scores the numbers, not their text."""
        return self.parse(self.default)

    def text(self, value: Value) -> str:
        """Write a value as links and labels have it.

        Examples
        --------
        >>> TEMPERATURE.text(8.0), SCORES.text((8.0, 4.0, 0.5))
        ('8', '8, 4, 0.5')
        """
        if isinstance(value, tuple):
            return ", ".join(f"{number:.15g}" for number in value)
        return f"{value:g}" if isinstance(value, float) else str(value)

    def parse(self, text: Value) -> Value:
        """Read a value of this row from a link's or a command line's text.

        Returns
        -------
        int, float, str or tuple of float
            One of ``values``; for scores the tuple of numbers.

        Raises
        ------
        ValueError
            In one sentence: what was required and what came.

        Examples
        --------
        >>> D_K.parse("256")
        256
        >>> SCORES.parse("8, 4, 0")
        (8.0, 4.0, 0.0)
        """
        if self.kind == "scores":
            return parse_scores(text)
        for value in self.values:
            if text == value or str(text) in (self.text(value), str(value)):
                return value
        listed = ", ".join(map(self.text, self.values))
        raise ValueError(f"{self.key} must be one of {listed}, got {text!r}")


def parse_scores(text: Value) -> tuple[float, ...]:
    """Read scores typed by a reader, such as ``"8, 4, 0"``.

    Parameters
    ----------
    text : str or sequence of float
        Numbers with a decimal point, separated by commas, semicolons or spaces; brackets
        around the whole are allowed.

    Returns
    -------
    tuple of float
        Between 1 and 64 finite numbers.

    Raises
    ------
    ValueError
        In one sentence: what was required and what came.

    Examples
    --------
    >>> parse_scores("[20 10 0]")
    (20.0, 10.0, 0.0)
    >>> parse_scores("8, x, 0")
    Traceback (most recent call last):
    ...
    ValueError: Scores must be numbers such as 8, 4, 0, got 'x' as number 2.
    """
    if not isinstance(text, str):
        text = _written(text)
    inner = text.strip()
    if inner[:1] + inner[-1:] in ("[]", "()"):
        inner = inner[1:-1].strip()
    if not inner:
        raise ValueError(f"Scores must be 1 to {MOST_SCORES} numbers such as 8, 4, 0, got none.")
    if _has_decimal_commas(inner):
        raise ValueError(
            "Scores need a decimal point and a space after each comma, such as 1.5, 0.5, "
            f"got {_quoted(text)}, where a comma may stand for the point."
        )
    words = re.split(r"\s*[,;]\s*|\s+", inner.rstrip(",; "))
    if len(words) > MOST_SCORES:
        raise ValueError(f"Scores must be at most {MOST_SCORES} numbers, got {len(words)}.")
    return tuple(_read_score(word, place) for place, word in enumerate(words, start=1))


def _written(numbers: Value) -> str:
    try:
        return ", ".join(repr(float(number)) for number in numbers)
    except (TypeError, ValueError):
        raise ValueError(
            f"Scores must be a text or a row of numbers, got {_quoted(repr(numbers))}."
        ) from None


def _read_score(word: str, place: int) -> float:
    try:
        number = float(word.replace("−", "-"))
    except ValueError:
        shown = _quoted(word) if word else "nothing"
        raise ValueError(
            f"Scores must be numbers such as 8, 4, 0, got {shown} as number {place}."
        ) from None
    if not abs(number) <= LARGEST_SCORE:  # also catches nan
        raise ValueError(
            f"Scores must be finite, at most {LARGEST_SCORE:,.0f} in size, "
            f"got {_quoted(word)} as number {place}."
        )
    return number


def _has_decimal_commas(text: str) -> bool:
    """'1,5 0,5' and '1,5' may mean 1.5 and 0.5; '8,4,0' and '8, 4, 0' are three scores."""
    tight = len(re.findall(r"(?<=\d),(?=\d)", text))
    return tight == 1 or (tight > 1 and re.search(r"[;\s]", text) is not None)


def _quoted(text: str, longest: int = 40) -> str:
    return repr(text if len(text) <= longest else text[: longest - 1] + "…")


D_K = Parameter(
    "d_k",
    "Head width dₖ",
    64,
    (4, 8, 16, 32, 64, 128, 256, 512, 1024),
    help="How many components q and k have: the number of products that a score adds up.",
)
N_KEYS = Parameter(
    "keys",
    "Keys in a row",
    8,
    (3, 4, 6, 8, 16, 64),
    kind="choice",
    help="How many keys share the attention of one query.",
)
SAMPLES = Parameter(
    "samples",
    "Sampled scores",
    20_000,
    (1_000, 5_000, 20_000, 100_000),
    kind="choice",
    help="How many pairs of q and k are drawn: more give a smoother histogram.",
)
SEED = Parameter(
    "seed",
    "Seed of the draw",
    0,
    tuple(range(10)),
    kind="choice",
    help="Another seed draws other q and k; the same seed draws the same ones again.",
)
TEMPERATURE = Parameter(
    "temperature",
    "Temperature T",
    8.0,
    (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 11.3, 16.0, 22.6, 32.0, 64.0),
    help="What every score is divided by before softmax. √dₖ is such a number, fixed by the width.",
)
SCORES = Parameter(
    "scores",
    "Scores",
    "8, 4, 0",
    kind="scores",
    help="Up to 64 numbers with a decimal point, separated by commas.",
)
GAP = Parameter(
    "gap",
    "Score gap s₁ − s₂",
    4.0,
    tuple(step / 2 for step in range(41)),
    help="How far the first score lies above the second.",
)
OFFSET = Parameter(
    "offset",
    "Offset added to every score",
    0,
    (0, 2, 4, 6, 8, 10, 12, 20, 50, 80, 90, 100, 300, 700, 710, 1000),
    help="One constant on all scores: in exact arithmetic softmax does not notice it.",
)
FORMAT = Parameter(
    "format",
    "Number format",
    "float16",
    ("float64", "float32", "bfloat16", "float16", "float8_e5m2", "float8_e4m3fn"),
    kind="choice",
    help="How many bits hold each number, and so how large it may grow.",
)
ANGLE = Parameter(
    "angle",
    "Angle θ from q to k, in degrees",
    60,
    tuple(range(-180, 181, 15)),
    help="How far k is turned from q, counter-clockwise.",
)
LENGTH_Q = Parameter(
    "length_q",
    "Length of q",
    2.0,
    tuple(step / 2 for step in range(1, 9)),
    help="‖q‖, the length of the query's arrow.",
)
LENGTH_K = Parameter(
    "length_k",
    "Length of k",
    3.0,
    tuple(step / 2 for step in range(1, 9)),
    help="‖k‖, the length of the key's arrow.",
)
TERMS = Parameter(
    "terms",
    "Products added so far",
    64,
    (*range(1, 17), *range(18, 65, 2)),
    help="How many of the products qᵢkᵢ have been added; a head this wide would stop here.",
)
CELL = Parameter(
    "cell",
    "Cell of q kᵀ",
    "q1·k1",
    tuple(f"q{query}·k{key}" for query in (1, 2, 3) for key in (1, 2, 3, 4)),
    kind="choice",
    help="Which query and which key are multiplied.",
)
ROW = Parameter(
    "row",
    "Query (row)",
    2,
    (1, 2, 3, 4, 5, 6),
    help="Which token asks: its row of weights is outlined and drawn as bars.",
)
MASK = Parameter(
    "mask",
    "Mask",
    "none",
    ("none", "causal", "hide last key", "hide all from query 3"),
    kind="choice",
    help="Which keys a query may see. A hidden key's score becomes −∞, its weight 0.",
)
SOFTCAP = Parameter(
    "softcap",
    "Softcap c",
    "none",
    ("none", "50", "20", "5", "2"),
    kind="choice",
    help="c·tanh(s/c) after the division: no score passes ±c. Gemma 2 uses 50.",
)
D_MODEL = Parameter(
    "d_model",
    "Model width",
    512,
    (256, 512, 768, 1024, 2048),
    kind="choice",
    help="How many numbers describe a token between the layers; the heads share them.",
)
HEADS = Parameter(
    "heads",
    "Heads",
    8,
    (1, 2, 4, 8, 16, 32),
    help="How many heads share the model's width: each has dₖ = width / heads.",
)
OPTIMISER = Parameter(
    "optimiser",
    "Optimiser",
    "SGD",
    ("SGD", "Adam"),
    kind="choice",
    help="SGD steps down the gradient as it is; Adam rescales every component to a similar step.",
)
LOSS = Parameter(
    "loss",
    "Loss placed on",
    "values",
    ("values", "weights"),
    kind="choice",
    help="On the values that attention returns, as in a Transformer, or on the weights themselves.",
)
STEP = Parameter(
    "step",
    "Training step",
    50,
    (0, 1, 2, 5, 10, 20, 50, 100, 200),
    help="How many steps of training lie behind the weights that are shown.",
)
PAIRS = Parameter(
    "pairs",
    "Queries and keys n",
    16,
    (4, 8, 16),
    kind="choice",
    help="How many queries there are, and how many keys: each query has one right key.",
)
LEARNING_RATE = Parameter(
    "lr",
    "Learning rate",
    "auto",
    ("auto", 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0),
    kind="choice",
    help="auto takes 30 for SGD with the loss on the values, 1 with the loss on the weights, and "
    "0.01 for Adam.",
)
SHARED_D_K = Parameter(
    "shared_d_k",
    "Width dₖ of W_q and W_k",
    256,
    (16, 64, 256, 1024),
    help="How many components the shared projections give to q and k.",
)
SHARED_OPTIMISER = Parameter(
    "shared_optimiser",
    "Optimiser of W_q and W_k",
    "Adam",
    ("Adam", "SGD"),
    kind="choice",
    help="SGD steps down the gradient as it is; Adam rescales every component to a similar step.",
)
SHARED_RATE = Parameter(
    "shared_lr",
    "Learning rate of W_q and W_k",
    "auto",
    ("auto", 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
    kind="choice",
    help="auto takes 0.01 for Adam and 1 for SGD.",
)
RULE = Parameter(
    "rule",
    "Rule for the logits",
    "QK-norm",
    (
        "divide by 1",
        "divide by √dₖ",
        "divide by dₖ",
        "divide by a learned T",
        "softcap",
        "softcap without √dₖ",
        "QK-norm",
        "RMS QK-norm",
        "cosine",
        "log n",
    ),
    kind="choice",
    help="What turns a raw score, or the cosine of q and k, into the number that softmax sees.",
)
LENGTH = Parameter(
    "n",
    "Number of keys n",
    64,
    (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
    help="How many keys share one query's attention: the length of the context.",
)
GROWTH = Parameter(
    "growth",
    "Growth of the scores",
    1,
    (1, 2, 4, 8, 16, 32, 64),
    help="How many times larger scores have become than at the start of training.",
)
FAN_IN = Parameter(
    "fan_in",
    "Inputs of a unit n",
    16,
    (4, 8, 16, 32, 64, 128, 256, 512, 1024),
    help="How many products a unit adds up.",
)
LAYERS = Parameter(
    "layers",
    "ReLU layers",
    20,
    tuple(range(1, 21)),
    help="How many layers a signal has passed.",
)
BRANCHES = Parameter(
    "branches",
    "Residual branches L",
    48,
    (1, 2, 4, 6, 12, 24, 48, 96),
    help="How many layers add their output to the stream.",
)
PREMISE = Parameter(
    "premise",
    "Premise to leave",
    "correlation in both",
    (
        "mean",
        "spread",
        "correlation in both",
        "correlation in one",
        "alignment",
        "shape and tails",
        "unit norm",
        "layer norm",
        "rms norm",
    ),
    kind="choice",
    help="What is no longer so of q and k; the caption says how far.",
)
AMOUNT = Parameter(
    "amount",
    "How far, in steps",
    3,
    (0, 1, 2, 3, 4, 5),
    help="0 keeps the premise; each step leaves it further, by the amount that the caption names.",
)
LAYER = Parameter(
    "layer",
    "Layer",
    3,
    (0, 1, 2, 3, 4, 5),
    help="Of the encoder's six layers, counted from 0.",
)
HEAD = Parameter(
    "head",
    "Head",
    1,
    tuple(range(12)),
    help="Of the layer's twelve heads, counted from 0.",
)
SENTENCE = Parameter(
    "sentence",
    "Sentence",
    "animal",
    ("animal", "cup", "letter"),
    kind="choice",
    help="By the noun that its “it” stands for; the caption has the sentence in full.",
)
