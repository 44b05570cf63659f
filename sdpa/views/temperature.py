"""√d_k is a temperature: the same ranking, a different certainty."""

from __future__ import annotations

import math

import numpy as np

from sdpa.attention import softmax
from sdpa.parameters import D_K, SCORES, TEMPERATURE
from sdpa.statistics import effective_keys, entropy
from sdpa.views import chart, words
from sdpa.views.view import Drawing, Layout, view

MOST_CURVES = 8
TEMPERATURES = np.geomspace(0.25, 64, 97)

# Three keys of a typical row in standard deviations of its scores: [8, 4, 0] at d_k = 64.
Z_SCORES = np.array([1.0, 0.5, 0.0])
DIVISORS = {"1": "$unscaled", "√d<sub>k</sub>": "$scaled", "d<sub>k</sub>": "$third"}


def in_play(weights: np.ndarray) -> str:
    """Say how many keys share the attention."""
    keys = len(weights)
    return f"{words.number(effective_keys(weights))} of {keys} {'key' if keys == 1 else 'keys'}"


@view("temperature.weights", TEMPERATURE, SCORES)
def weights(temperature: float, scores: tuple[float, ...]) -> Drawing:
    """Draw softmax(s/T) beside softmax(s), and every weight against T."""
    raw = np.array(scores)
    n_keys = len(raw)
    sharp, soft = softmax(raw), softmax(raw, temperature=temperature)
    curves = softmax(raw, temperature=TEMPERATURES[:, None])
    names = chart.key_names(n_keys)
    ranked = np.argsort(-raw, kind="stable")[:MOST_CURVES]
    shades = ["$ink", "$third", "$fourth"] + ["$fifth"] * MOST_CURVES
    right: Layout = {"xaxis": "x2", "yaxis": "y2", "showlegend": False}
    apart = [key for key in ranked[:3] if key == ranked[0] or raw[key] < raw[ranked[0]]]
    kept = float(effective_keys(soft))
    order = "the same" if len(set(soft)) == len(set(raw)) else "the same (ties by rounding aside)"
    return Drawing(
        data=[
            chart.bars(sharp, "$unscaled", "not divided"),
            chart.bars(soft, "$scaled", "divided by T"),
            *(
                chart.line(
                    TEMPERATURES,
                    curves[:, key],
                    shade,
                    names[key],
                    width=2.5,
                    **right,
                    hover="at T = %{x:.3g}: %{y:.4g}",
                )
                for key, shade in zip(ranked, shades, strict=False)
            ),
            *(chart.dot(temperature, soft[key], "$scaled", names[key], **right) for key in ranked),
        ],
        layout=chart.layout(
            xaxis=chart.key_axis(n_keys, domain=[0, 0.45]),
            yaxis=chart.axis("weight", between=(0, 1), grid=True),
            xaxis2=chart.axis(
                "temperature T, the √d<sub>k</sub> of a head this wide",
                between=(0.22, 70),
                log=True,
                domain=[0.56, 0.96],
                anchor="y2",
                tickvals=[0.25, 1, 2, 4, 8, 16, 32, 64],
                ticktext=[
                    "T = ¼<br>d<sub>k</sub> =",
                    "1<br>1",
                    "2<br>4",
                    "4<br>16",
                    "8<br>64",
                    "16<br>256",
                    "32<br>1024",
                    "64",
                ],
            ),
            yaxis2=chart.axis("", between=(0, 1.02), grid=True, anchor="x2"),
            annotations=[
                chart.note(
                    names[key],
                    math.log10(70),
                    curves[-1, key],
                    axes="2",
                    xshift=3,
                    yshift=(9, 0, -9)[place],
                    colour=shades[place],
                )
                for place, key in enumerate(apart)
            ],
            **chart.legend_above(right=0.45),
        ),
        narrow=chart.stacked(2),
        caption=(
            f"Divided by T = {words.plain(temperature)}, the weights are {words.weights(soft)} "
            f"and {in_play(soft)} stay in play. Not divided, they are {words.weights(sharp)}: "
            f"{in_play(sharp)}."
        ),
        numbers={
            "top weight": float(soft.max()),
            "top weight not divided": float(sharp.max()),
            "entropy": float(entropy(soft)),
            "entropy not divided": float(entropy(sharp)),
            "keys in play": kept,
        },
        columns={
            "key": np.arange(1, n_keys + 1),
            "score s": raw,
            "s / T": raw / temperature,
            "weight, not divided": sharp,
            "weight, divided by T": soft,
        },
        formula=(
            r"w_i = \frac{e^{s_i/T}}{\sum_j e^{s_j/T}}\qquad "
            rf"w_{{{ranked[0] + 1}}} = \frac{{e^{{{words.tex(words.plain(raw.max()))}/"
            rf"{words.plain(temperature)}}}}}{{\sum_j e^{{s_j/{words.plain(temperature)}}}}} = "
            rf"{words.tex(words.weight(soft.max()))}"
        ),
        notice=(
            f"The ranking is {order} at every T; only the certainty changes. The entropy is "
            f"{words.number(entropy(soft))} nats at T = {words.plain(temperature)}, "
            f"{words.number(entropy(sharp))} nats without a divisor, and at most "
            f"ln {n_keys} = {words.number(math.log(n_keys))}: e to the entropy counts the keys "
            "in play."
        ),
    )


@view("temperature.divisors", D_K)
def divisors(d_k: int) -> Drawing:
    """Divide one typical row by 1, √d_k and d_k: its weights, and its keys in play by width."""
    widths = np.array(D_K.values, dtype=float)

    spread = np.sqrt(widths)[:, None]
    rows = {
        name: softmax(Z_SCORES * spread, temperature=widths[:, None] ** power)
        for name, power in zip(DIVISORS, (0.0, 0.5, 1.0), strict=True)
    }
    kept = {name: effective_keys(row) for name, row in rows.items()}
    here = D_K.values.index(d_k)
    root = math.sqrt(d_k)
    right: Layout = {"xaxis": "x2", "yaxis": "y2", "showlegend": False}
    scores = ", ".join(words.number(score) for score in Z_SCORES * root)
    return Drawing(
        data=[
            *(
                chart.bars(rows[name][here], colour, f"divided by {name}")
                for name, colour in DIVISORS.items()
            ),
            *(
                chart.line(widths, kept[name], colour, f"divided by {name}", **right)
                for name, colour in DIVISORS.items()
            ),
            *(
                chart.dot(d_k, kept[name][here], colour, f"divided by {name}", **right)
                for name, colour in DIVISORS.items()
            ),
        ],
        layout=chart.layout(
            xaxis=chart.key_axis(3, domain=[0, 0.45]),
            yaxis=chart.axis("weight", between=(0, 1), grid=True),
            xaxis2=chart.width_axis(domain=[0.56, 1], anchor="y2"),
            yaxis2=chart.axis(
                "keys in play", between=(0.95, 3.05), grid=True, anchor="x2", tickvals=[1, 2, 3]
            ),
            **chart.legend_above(),
        ),
        narrow=chart.stacked(2),
        caption=(
            f"At dₖ = {d_k} a typical row of three keys scores {scores}. Divided by 1 the weights "
            f"are {words.weights(rows['1'][here])}; by √dₖ = {words.number(root)} they are "
            f"{words.weights(rows['√d<sub>k</sub>'][here])}; by dₖ = {d_k} they are "
            f"{words.weights(rows['d<sub>k</sub>'][here])}."
        ),
        numbers={
            "top weight by 1": float(rows["1"][here, 0]),
            "top weight by √d_k": float(rows["√d<sub>k</sub>"][here, 0]),
            "top weight by d_k": float(rows["d<sub>k</sub>"][here, 0]),
        },
        columns={
            "d_k": widths,
            **{
                f"{what}, divided by {chart.text_of(name)}": column
                for name in DIVISORS
                for what, column in (
                    ("weight of k1", rows[name][:, 0]),
                    ("weight of k2", rows[name][:, 1]),
                    ("weight of k3", rows[name][:, 2]),
                    ("keys in play", kept[name]),
                )
            },
        },
        notice=(
            "Dividing by 1 lets the width of the head decide how certain it is, and so does "
            "dividing by dₖ, the other way round: ever flatter. Of the three, only √dₖ gives the "
            "same weights at every width."
        ),
    )
