"""The whole chain on one slider: scores spread, softmax sharpens, the typical gradient dies."""

from __future__ import annotations

import math

import numpy as np

from sdpa.attention import softmax
from sdpa.parameters import D_K
from sdpa.statistics import effective_keys, typical_scores
from sdpa.views import chart, words
from sdpa.views.gradients import N_ROWS, rows_by_width
from sdpa.views.view import Drawing, Layout, view

N_KEYS = 8


@view("chain.chain", D_K)
def chain(d_k: int) -> Drawing:
    """Draw the links side by side, not divided and divided by √d_k."""
    root = math.sqrt(d_k)
    raw = typical_scores(d_k, N_KEYS)
    divided = raw / root
    sharp, soft = softmax(raw), softmax(divided)
    dying, living = (rows_by_width(N_KEYS, scaled)["median"] for scaled in (False, True))
    widths = np.array(D_K.values, dtype=float)
    here = D_K.values.index(d_k)
    middle: Layout = {"xaxis": "x2", "yaxis": "y2", "showlegend": False}
    right: Layout = {"xaxis": "x3", "yaxis": "y3", "showlegend": False}
    return Drawing(
        data=[
            chart.bars(raw, "$unscaled", chart.NOT_SCALED),
            chart.bars(divided, "$scaled", chart.SCALED),
            chart.bars(sharp, "$unscaled", chart.NOT_SCALED, **middle),
            chart.bars(soft, "$scaled", chart.SCALED, **middle),
            chart.line(widths, dying, "$unscaled", chart.NOT_SCALED, **right),
            chart.line(widths, living, "$scaled", chart.SCALED, **right),
            chart.dot(d_k, dying[here], "$unscaled", chart.NOT_SCALED, **right),
            chart.dot(d_k, living[here], "$scaled", chart.SCALED, **right),
        ],
        layout=chart.layout(
            xaxis=chart.key_axis(N_KEYS, domain=[0, 0.28]),
            yaxis=chart.axis("", between=(-50, 50), grid=True, zeroline=True, zerolinecolor="$ink"),
            xaxis2=chart.key_axis(N_KEYS, domain=[0.36, 0.64], anchor="y2"),
            yaxis2=chart.axis("", between=(0, 1), grid=True, anchor="x2"),
            xaxis3=chart.width_axis(domain=[0.74, 1], anchor="y3"),
            yaxis3=chart.axis(
                "",
                between=(1e-7, 1),
                log=True,
                grid=True,
                anchor="x3",
                tickvals=[1e-6, 1e-4, 1e-2, 1],
                ticktext=["10⁻⁶", "10⁻⁴", "10⁻²", "1"],
            ),
            annotations=[
                chart.heading("1 Scores spread"),
                chart.heading("2 Softmax sharpens", "2"),
                chart.heading("3 The gradient dies", "3"),
            ],
            margin={"l": 44, "r": 14, "t": 64, "b": 50},
            **chart.legend_above(top=1.13),
        ),
        narrow=chart.stacked(3, height=130, gap=60, headed=True),
        caption=(
            f"At dₖ = {d_k} a typical row's {N_KEYS} raw scores reach from "
            f"{words.number(raw.min())} to {words.number(raw.max())}; the top key takes "
            f"{words.weight(sharp.max())} of the attention and the median row's gradient is "
            f"{words.number(dying[here])}. Divided by √dₖ = {words.number(root)}, the top key "
            f"takes {words.weight(soft.max())} and the gradient is {words.number(living[here])}."
        ),
        numbers={
            "standard deviation": root,
            "top weight not divided": float(sharp.max()),
            "top weight divided": float(soft.max()),
            "keys in play not divided": float(effective_keys(sharp)),
            "keys in play divided": float(effective_keys(soft)),
            "median gradient not divided": float(dying[here]),
            "median gradient divided": float(living[here]),
        },
        columns={
            "d_k": widths,
            "standard deviation of q·k": np.sqrt(widths),
            **{
                f"top weight, {how}": [
                    float(softmax(typical_scores(width, N_KEYS), temperature=t(width)).max())
                    for width in D_K.values
                ]
                for how, t in (("not divided", lambda _: 1.0), ("divided by √d_k", math.sqrt))
            },
            "median gradient, not divided": dying,
            "median gradient, divided by √d_k": living,
        },
        formula=(
            r"\operatorname{std}(q \cdot k) = \sqrt{d_k} = "
            rf"\sqrt{{{d_k}}} = {words.latex(root)}\qquad "
            r"w = \operatorname{softmax}\!\left(\frac{q \cdot k}{\sqrt{d_k}}\right)"
        ),
        notice=(
            f"Not divided, {words.number(effective_keys(sharp))} of {N_KEYS} keys stay in play "
            f"(e to the entropy of the weights: {N_KEYS} if all are equal, 1 if one has "
            f"everything); divided, {words.number(effective_keys(soft))}, at every width. The "
            f"gradient is that of the median of {N_ROWS:,} random rows: the sum of all slopes "
            "p(1 − p), divided by T. In a wide head a few nearly tied rows keep a large one, so "
            "the mean tells another story (see Gradients)."
        ),
    )
