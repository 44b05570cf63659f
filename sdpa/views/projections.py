"""Shared projections in training: accuracy against the step, for three divisors."""

from __future__ import annotations

import math

import numpy as np

from sdpa.parameters import SHARED_D_K, SHARED_OPTIMISER, SHARED_RATE, Value
from sdpa.projections import ITEMS, SHARED_RATES, WINDOW, train_projections
from sdpa.views import chart, words
from sdpa.views.temperature import DIVISORS
from sdpa.views.view import Drawing, view

STEPS = 300
# Steps that are drawn, counted from 1 and dense where the axis is wide.
DRAWN = np.unique(np.geomspace(1, STEPS, 80).round().astype(int))
ENOUGH = 0.9
LAST = 20  # batches that the accuracy at the end is read from
COLUMNS = [chart.text_of(name) for name in DIVISORS]


def shared_rate(optimiser: str, lr: Value) -> float:
    """Give the learning rate that "auto" stands for, or the one that was chosen."""
    return float(SHARED_RATES[optimiser.lower()] if lr == "auto" else lr)


@view("training.shared", SHARED_D_K, SHARED_OPTIMISER, SHARED_RATE)
def shared(shared_d_k: int, shared_optimiser: str, shared_lr: Value) -> Drawing:
    """Draw the accuracy of a lookup through shared projections against the step."""
    rate = shared_rate(shared_optimiser, shared_lr)
    history = train_projections(
        shared_d_k,
        [1.0, math.sqrt(shared_d_k), float(shared_d_k)],
        steps=STEPS,
        lr=rate,
        optimiser=shared_optimiser.lower(),
    )
    curves = history.recent()[:, DRAWN - 1]
    ends = history.accuracy[:, -LAST:].mean(axis=-1)
    steps = history.steps_to(ENOUGH)
    paces = [_within(count) for count in steps]
    shares = [f"{100 * end:.1f} %" for end in ends]
    return Drawing(
        data=[
            *(
                chart.line(
                    DRAWN, curve, colour, f"divided by {name}", hover="at step %{x}: %{y:.0%}"
                )
                for curve, (name, colour) in zip(curves, DIVISORS.items(), strict=True)
            ),
            chart.line(
                [1, STEPS], [1 / ITEMS] * 2, "$ink", "chance", dash="dot", width=2, hover="%{y:.0%}"
            ),
        ],
        layout=chart.layout(
            xaxis=chart.axis(
                "training step",
                between=(0.95, STEPS * 1.05),
                log=True,
                tickvals=[1, 3, 10, 30, 100, 300],
                ticktext=["1", "3", "10", "30", "100", "300"],
            ),
            yaxis=chart.axis(
                "new queries that find their key",
                between=(-0.02, 1.04),
                grid=True,
                tickformat=".0%",
            ),
            **chart.legend_above(),
        ),
        caption=(
            f"Shared projections, dₖ = {shared_d_k}, {shared_optimiser} (learning rate "
            f"{words.plain(rate)}): 90 % of the queries of {WINDOW} batches are right {paces[0]} "
            f"not divided, {paces[1]} divided by √dₖ, {paces[2]} divided by dₖ. Over the last "
            f"{LAST} of {STEPS} batches {shares[0]}, {shares[1]} and {shares[2]} are right."
        ),
        numbers={
            **{
                f"steps by {name}": float(count) for name, count in zip(COLUMNS, steps, strict=True)
            },
            **{f"accuracy by {name}": float(end) for name, end in zip(COLUMNS, ends, strict=True)},
            "learning rate": rate,
        },
        columns={
            "step": DRAWN,
            **{
                f"accuracy, divided by {name}": curve
                for name, curve in zip(COLUMNS, curves, strict=True)
            },
        },
        formula=(
            r"q_i = x_i W_q \qquad k_j = x_j W_k \qquad w_i = \operatorname{softmax}"
            rf"(q_i K^{{\mathsf T}}/T) \qquad \sqrt{{d_k}} = {words.latex(math.sqrt(shared_d_k))}"
        ),
        notice=_notice(steps[0], steps[1], shared_optimiser),
    )


def _within(count: float) -> str:
    return f"in none of the {STEPS} steps" if math.isnan(count) else f"after {count:.0f} steps"


def _notice(one: float, root: float, optimiser: str) -> str:
    task = (
        f"Each step brings new items; the query of each of {ITEMS} must find its own key, through "
        "W_q and W_k that all rows share. "
    )
    if math.isnan(one) and math.isnan(root):
        return (
            f"{task}Neither without a divisor nor with √dₖ does it reach 90 %: the learning rate "
            "is too small or too large for both, and says little about the divisor."
        )
    if math.isnan(one):
        return (
            f"{task}At this learning rate only the divided training gets there. That is a narrower "
            "range of rates, not a standstill: with the smaller rate of “auto” it learns without a "
            "divisor too."
        )
    if math.isnan(root) or one < 0.8 * root:
        why = (
            " A divisor divides the gradient too, so with SGD a small learning rate is smaller "
            "still with √dₖ."
            if optimiser == "SGD"
            else ""
        )
        return f"{task}Here the training **without** a divisor is the faster one.{why}"
    if one <= 1.25 * root:
        return f"{task}Here it is about as fast without a divisor as with √dₖ."
    return (
        f"{task}Without a divisor it takes {words.number(one / root, 2)} times as many steps as "
        "with √dₖ, but it learns: rows that are undecided move W_q and W_k for the saturated ones."
    )
