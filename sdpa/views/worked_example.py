"""[8, 4, 0] at d_k = 64 by hand, or the reader's own numbers, line by line."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sdpa.attention import softmax
from sdpa.parameters import D_K, SCORES
from sdpa.views import chart, words
from sdpa.views.view import Drawing, view

MOST_TERMS = 4


@view("worked_example.lines", D_K, SCORES)
def lines(d_k: int, scores: tuple[float, ...]) -> Drawing:
    """Draw the weights of the given raw scores, not divided and divided by √d_k."""
    raw, root = np.array(scores), math.sqrt(d_k)
    scaled = raw / root
    sharp, soft = softmax(raw), softmax(scaled)
    shifted = scaled - scaled.max()
    exponentials = np.exp(shifted)
    return Drawing(
        data=[
            chart.bars(sharp, "$unscaled", chart.NOT_SCALED),
            chart.bars(soft, "$scaled", chart.SCALED),
        ],
        layout=chart.layout(
            xaxis=chart.key_axis(len(raw)),
            yaxis=chart.axis("weight", between=(0, 1), grid=True),
            **chart.legend_above(),
        ),
        caption=(
            f"The scores {words.listed(raw)} give weights {words.weights(sharp)}. Divided by "
            f"√{d_k} = {words.number(root)} they are {words.listed(scaled, digits=3)} and give "
            f"{words.weights(soft)}."
        ),
        numbers={
            "root": root,
            "top weight not divided": float(sharp.max()),
            "top weight divided": float(soft.max()),
            "last weight divided": float(soft[-1]),
            "sum of exponentials": float(exponentials.sum()),
        },
        columns={
            "key": np.arange(1, len(raw) + 1),
            "score s": raw,
            "weight, not divided": sharp,
            "s/√d_k": scaled,
            "minus the maximum": shifted,
            "exp": exponentials,
            "weight, divided": soft,
        },
        formula=as_latex(d_k, scores),
        notice="",
    )


def as_latex(d_k: int, scores: tuple[float, ...]) -> str:
    """Write every line of the calculation, for a slide or a paper."""
    raw, root = np.array(scores), math.sqrt(d_k)
    scaled = raw / root
    exponentials = np.exp(scaled - scaled.max())
    total = exponentials.sum()

    def row(values: np.ndarray, write: Callable[[float], str] = words.latex) -> str:
        more = r",\ \dots" if len(values) > MOST_TERMS else ""
        return f"[{', '.join(write(value) for value in values[:MOST_TERMS])}{more}]"

    lines = [
        (r"s", row(raw, lambda value: words.tex(words.plain(value)))),
        (rf"s/\sqrt{{{d_k}}}", row(scaled)),
        (r"m = \max s/\sqrt{d_k}", words.latex(scaled.max())),
        (r"e^{s/\sqrt{d_k} - m}", row(exponentials)),
        (r"\textstyle\sum", words.latex(total)),
        (r"w", row(exponentials / total, lambda value: words.tex(words.weight(value)))),
    ]
    body = r" \\ ".join(f"{name} &= {value}" for name, value in lines)
    return rf"\begin{{aligned}}{body}\end{{aligned}}"


def as_numpy(d_k: int, scores: tuple[float, ...]) -> str:
    """Write the calculation as NumPy code that runs by itself."""
    listed = ", ".join(f"{score:.15g}" for score in scores)
    return f"""import numpy as np

scores = np.array([{listed}], dtype=float)
d_k = {d_k}

scaled = scores / np.sqrt(d_k)
exponentials = np.exp(scaled - scaled.max())  # the maximum only keeps exp finite
weights = exponentials / exponentials.sum()
print(weights)
"""
