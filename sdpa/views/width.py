"""One rule, five places: sums of independent terms, each fed into something sensitive."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from sdpa.parameters import BRANCHES, D_K, FAN_IN, LAYERS
from sdpa.views import chart, words
from sdpa.views.panels import Curve, Panel, share_axis, side_by_side, size_axis, steps_axis
from sdpa.views.view import Drawing, view
from sdpa.width import (
    Head,
    ReluStack,
    Sums,
    TanhLayer,
    aligned_sums,
    classifier_head,
    relu_stack,
    residual_stream,
    tanh_layer,
)

UNITS, SUMS = 20_000, 10_000
NETWORKS = 100
RELU_WIDTH = 256
CLASSES = 10
ALIGNMENT = 0.2
_FAN_INS = np.array(FAN_IN.values, dtype=float)
_SHOWN = (4, 16, 64, 256, 1024)


@lru_cache(maxsize=1)
def _tanh() -> tuple[list[TanhLayer], list[TanhLayer]]:
    return (
        [tanh_layer(n, n_units=UNITS, seed=0) for n in FAN_IN.values],
        [tanh_layer(n, weight_std=n**-0.5, n_units=UNITS, seed=0) for n in FAN_IN.values],
    )


@view("width.tanh", FAN_IN)
def tanh(fan_in: int) -> Drawing:
    """Draw a tanh layer's spread, saturated units and mean slope against its inputs."""
    raw, divided = _tanh()
    here = FAN_IN.values.index(fan_in)
    across = steps_axis("inputs n", FAN_IN.values, _SHOWN)

    def pair(what: str) -> list[Curve]:
        both = (("weights of variance 1", "$unscaled", raw), ("variance 1/n", "$scaled", divided))
        return [
            Curve(
                name, colour, np.array([getattr(one, what) for one in of]), marked=True, legend=True
            )
            for name, colour, of in both
        ]

    law = Curve("√n", "$ink", np.sqrt(_FAN_INS), dash="dot", width=2, legend=True)
    panels = [
        Panel("std before tanh", [*pair("std"), law], across, size_axis(0.6, 50, (1, 4, 16, 32))),
        Panel("saturated units", pair("saturated_share"), across, share_axis()),
        Panel("mean slope tanh′", pair("mean_slope"), across, share_axis()),
    ]
    data, layout, narrow = side_by_side(panels, _FAN_INS, here)
    one, other = raw[here], divided[here]
    return Drawing(
        data=data,
        layout=layout,
        narrow=narrow,
        caption=(
            f"With {fan_in} inputs and weights of variance 1, units spread by "
            f"{words.number(one.std)} before tanh, {words.percent(one.saturated_share)} are "
            f"saturated, and the mean slope is {words.number(one.mean_slope)}. With variance 1/n: "
            f"{words.number(other.std)}, {words.percent(other.saturated_share)} and "
            f"{words.number(other.mean_slope)}."
        ),
        numbers={
            "std": one.std,
            "std divided": other.std,
            "saturated": one.saturated_share,
            "saturated divided": other.saturated_share,
            "slope": one.mean_slope,
            "slope divided": other.mean_slope,
        },
        columns={
            "n": _FAN_INS,
            **{
                f"{what}, variance {variance}": np.array([getattr(entry, key) for entry in found])
                for variance, found in (("1", raw), ("1/n", divided))
                for what, key in (
                    ("std before tanh", "std"),
                    ("saturated share", "saturated_share"),
                    ("mean slope", "mean_slope"),
                )
            },
        },
        formula=(
            rf"a = \sum_{{i=1}}^{{n}} w_i x_i\qquad \sqrt{{n}} = \sqrt{{{fan_in}}} = "
            rf"{words.latex(math.sqrt(fan_in))}"
        ),
        notice=(
            "This is attention's picture again, a **tanh** in the place of the softmax: the "
            "sum spreads by √n, and the mean slope falls like 1/√n. (Saturated: |tanh| above 0.99.)"
        ),
    )


@lru_cache(maxsize=1)
def _relu() -> tuple[ReluStack, ReluStack]:
    one, two = (
        relu_stack(LAYERS.values[-1], width=RELU_WIDTH, numerator=top, n_networks=NETWORKS, seed=0)
        for top in (1.0, 2.0)
    )
    return one, two


@view("width.relu", LAYERS)
def relu(layers: int) -> Drawing:
    """Draw the size of a signal along ReLU layers, weights of variance 1/n beside 2/n."""
    one, two = _relu()
    depths = np.arange(len(one.rms), dtype=float)
    law = 2.0 ** (-depths / 2)
    across = chart.axis("layer", between=(-0.4, len(depths) - 0.6), dtick=5)
    faint = {"opacity": 0.45}
    curves = [
        Curve("variance 1/n", "$unscaled", one.rms, marked=True, legend=True),
        Curve("variance 2/n", "$scaled", two.rms, marked=True, legend=True),
        Curve("√½ a layer", "$ink", law, dash="dot", width=2, legend=True),
        Curve("one network in ten is below", "$scaled", two.low, width=1, parts=faint),
        Curve("one network in ten is above", "$scaled", two.high, width=1, parts=faint),
    ]
    up = size_axis(3e-4, 6, (0.001, 0.01, 0.1, 1))
    panels = [Panel(f"size (rms) after each layer, {RELU_WIDTH} units wide", curves, across, up)]
    data, layout, narrow = side_by_side(panels, depths, layers)
    return Drawing(
        data=data,
        layout=layout,
        narrow=narrow,
        caption=(
            f"After {layers} ReLU {'layer' if layers == 1 else 'layers'} the signal's root mean "
            f"square is {words.number(one.rms[layers])} with weights of variance 1/n and "
            f"{words.number(two.rms[layers])} with 2/n ({NETWORKS} networks); with 2/n the middle "
            f"four in five networks lie between {words.number(two.low[layers])} and "
            f"{words.number(two.high[layers])}."
        ),
        numbers={
            "rms 1/n": float(one.rms[layers]),
            "rms 2/n": float(two.rms[layers]),
            "law 1/n": float(law[layers]),
            "low 2/n": float(two.low[layers]),
            "high 2/n": float(two.high[layers]),
        },
        columns={
            "layer": depths,
            "rms, variance 1/n": one.rms,
            "rms, variance 2/n": two.rms,
            "2^(−layer/2)": law,
            "lower tenth, variance 2/n": two.low,
            "upper tenth, variance 2/n": two.high,
        },
        formula=(
            r"\operatorname{Var} w = \frac{1}{n}:\ \text{rms} = 2^{-\ell/2}\qquad "
            rf"\ell = {layers}:\ {words.latex(law[layers])}"
        ),
        notice=(
            "A ReLU drops half of the mean square, so dividing by √n alone is not enough: **half** "
            "of the variance is lost at each layer. The sum has the same rule, but what follows it "
            "sets the constant, here 2."
        ),
    )


@lru_cache(maxsize=16)
def _stream(branches: int, divided: bool) -> np.ndarray:
    return residual_stream(branches, branch_std=branches**-0.5 if divided else 1.0, seed=0)


@view("width.residual", BRANCHES)
def residual(branches: int) -> Drawing:
    """Draw a residual stream's spread as branches are added, whole and divided by √L."""
    most = BRANCHES.values[-1]
    here = BRANCHES.values.index(branches)
    counts = np.array(BRANCHES.values, dtype=float)
    whole = np.array([_stream(most, False)[count] for count in BRANCHES.values])
    divided = np.array([_stream(count, True)[-1] for count in BRANCHES.values])
    across = steps_axis("branches L", BRANCHES.values, (1, 2, 4, 12, 24, 48, 96))
    curves = [
        Curve("branches of variance 1", "$unscaled", whole, marked=True, legend=True),
        Curve("branches divided by √L", "$scaled", divided, marked=True, legend=True),
        Curve("√(L + 1)", "$ink", np.sqrt(counts + 1), dash="dot", width=2, legend=True),
    ]
    up = chart.axis("", between=(0, 10.5), grid=True, tickvals=[0, 2, 4, 6, 8, 10])
    panels = [Panel("std of the stream after all branches", curves, across, up)]
    data, layout, narrow = side_by_side(panels, counts, here)
    added = "one branch" if branches == 1 else f"{branches} branches"
    return Drawing(
        data=data,
        layout=layout,
        narrow=narrow,
        caption=(
            f"A stream of variance 1 with {added} of variance 1 added to it has a standard "
            f"deviation of {words.number(whole[here])}; the law says "
            f"√{branches + 1} = {words.number(math.sqrt(branches + 1))}. Branches divided by √L "
            f"leave it at {words.number(divided[here])}."
        ),
        numbers={
            "std": float(whole[here]),
            "std divided": float(divided[here]),
            "law": math.sqrt(branches + 1),
        },
        columns={
            "L": counts,
            "std": whole,
            "std, divided by √L": divided,
            "√(L + 1)": np.sqrt(counts + 1),
        },
        formula=(
            rf"x_L = x_0 + \sum_{{l=1}}^{{L}} f_l\qquad \operatorname{{Var}} x_L = 1 + L = "
            rf"{branches + 1}\qquad 1 + L \cdot \frac1L = 2"
        ),
        notice=(
            "The terms here are **layers**, not components, and the rule is the same. GPT‑2 scales "
            "the weights that write to the stream by 1/√N, N being the number of residual layers, "
            "two in each block."
        ),
    )


@lru_cache(maxsize=1)
def _heads() -> dict[str, list[Head]]:
    powers = {"1": 0.0, "1/n": -0.5, "1/n²": -1.0}
    return {
        variance: [classifier_head(n, weight_std=n**power, seed=0) for n in FAN_IN.values]
        for variance, power in powers.items()
    }


@view("width.head", FAN_IN)
def head(fan_in: int) -> Drawing:
    """Draw a classifier's loss before any training against its features."""
    found = _heads()
    here = FAN_IN.values.index(fan_in)
    losses = {name: np.array([entry.loss for entry in row]) for name, row in found.items()}
    traces = {name: np.array([entry.trace for entry in row]) for name, row in found.items()}
    chance = math.log(CLASSES)
    across = steps_axis("features n", FAN_IN.values, _SHOWN)
    colours = {"1": "$unscaled", "1/n": "$scaled", "1/n²": "$third"}

    def curves(of: dict[str, np.ndarray]) -> list[Curve]:
        return [
            Curve(f"variance {name}", colours[name], of[name], marked=True, legend=True)
            for name in of
        ]

    guess = Curve(
        f"ln {CLASSES}", "$ink", np.full(len(_FAN_INS), chance), dash="dot", width=2, legend=True
    )
    panels = [
        Panel(
            "loss at the start, nats",
            [*curves(losses), guess],
            across,
            size_axis(1.6, 70, (2, 5, 10, 20, 50)),
        ),
        Panel("softmax's slope, 1 − Σp²", curves(traces), across, share_axis()),
    ]
    data, layout, narrow = side_by_side(panels, _FAN_INS, here)
    return Drawing(
        data=data,
        layout=layout,
        narrow=narrow,
        caption=(
            f"An untrained classifier of {CLASSES} classes on {fan_in} features has a loss of "
            f"{words.number(losses['1'][here])} with weights of variance 1, "
            f"{words.number(losses['1/n'][here])} with 1/n and "
            f"{words.number(losses['1/n²'][here])} with 1/n²; a guess at random costs "
            f"ln {CLASSES} = {words.number(chance)}."
        ),
        numbers={
            "loss": float(losses["1"][here]),
            "loss 1/n": float(losses["1/n"][here]),
            "loss 1/n²": float(losses["1/n²"][here]),
            "chance": chance,
        },
        columns={
            "n": _FAN_INS,
            **{f"loss, variance {name}": column for name, column in losses.items()},
            **{f"1 − Σp², variance {name}": column for name, column in traces.items()},
        },
        formula=(
            r"z = \sum_{i=1}^{n} w_i h_i\qquad \text{loss} = -\ln p_y\qquad "
            rf"\ln {CLASSES} = {words.latex(chance)}"
        ),
        notice=(
            "Weights of variance 1 make the head **sure and wrong** before it has seen anything. "
            "1/n makes its logits of size 1, at every n; 1/n², the output rule of μP, lets them "
            "start near 0."
        ),
    )


@lru_cache(maxsize=1)
def _sums() -> tuple[list[Sums], list[Sums]]:
    return (
        [aligned_sums(d, n_sums=SUMS, seed=0) for d in D_K.values],
        [aligned_sums(d, alignment=ALIGNMENT, n_sums=SUMS, seed=0) for d in D_K.values],
    )


@view("width.aligned", D_K)
def aligned(d_k: int) -> Drawing:
    """Draw independent and aligned sums, divided by √d_k and by d_k."""
    independent, agreeing = _sums()
    widths = np.array(D_K.values, dtype=float)
    here = D_K.values.index(d_k)
    rms = np.array([one.rms for one in independent])
    mean = np.array([one.mean for one in agreeing])
    across = chart.width_axis()

    def curves(power: float) -> list[Curve]:
        return [
            Curve("independent (rms)", "$scaled", rms / widths**power, marked=True, legend=True),
            Curve(
                f"correlated {ALIGNMENT} (mean)",
                "$fourth",
                mean / widths**power,
                marked=True,
                legend=True,
            ),
        ]

    panels = [
        Panel("q·k divided by √d<sub>k</sub>", curves(0.5), across, size_axis(0.02, 10)),
        Panel("q·k divided by d<sub>k</sub>", curves(1.0), across, size_axis(0.02, 10)),
    ]
    data, layout, narrow = side_by_side(panels, widths, here)
    root = math.sqrt(d_k)
    return Drawing(
        data=data,
        layout=layout,
        narrow=narrow,
        caption=(
            f"At dₖ = {d_k} independent q and k give scores of typical size "
            f"{words.number(rms[here] / root)} after division by √dₖ, and "
            f"{words.number(rms[here] / d_k)} by dₖ. If their components are correlated by "
            f"{ALIGNMENT}, the mean score is {words.number(mean[here] / root)} by √dₖ and "
            f"{words.number(mean[here] / d_k)} by dₖ."
        ),
        numbers={
            "independent by √d_k": float(rms[here] / root),
            "independent by d_k": float(rms[here] / d_k),
            "aligned by √d_k": float(mean[here] / root),
            "aligned by d_k": float(mean[here] / d_k),
        },
        columns={
            "d_k": widths,
            "rms of independent sums": rms,
            "mean of aligned sums": mean,
            "independent, by √d_k": rms / np.sqrt(widths),
            "aligned, by √d_k": mean / np.sqrt(widths),
            "independent, by d_k": rms / widths,
            "aligned, by d_k": mean / widths,
        },
        formula=(
            r"\text{independent: } \sqrt{d_k}\qquad \text{aligned: } \rho\,d_k\qquad "
            rf"{ALIGNMENT} \cdot {d_k} = {words.latex(ALIGNMENT * d_k)}"
        ),
        notice=(
            "“Divide by √dₖ” presumes that the terms are **independent**, “divide by dₖ” that they "
            "**agree**. Random q and k are independent; training may align them, which is why μP "
            "divides by dₖ where it grows the heads."
        ),
    )
