"""The lookup task in training: loss and accuracy, the weights, and where the gradient points."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from sdpa.parameters import D_K, LEARNING_RATE, LOSS, OPTIMISER, PAIRS, SEED, STEP, Value
from sdpa.training import RATES, Training, train_lookup
from sdpa.views import chart, words
from sdpa.views.temperature import DIVISORS
from sdpa.views.view import Drawing, Layout, Trace, view

STEPS = STEP.values[-1]
# The steps that are drawn: all while much happens, then fewer.
DRAWN = np.r_[0:20, 20:40:2, 40 : STEPS + 1 : 5]
ENOUGH = 0.95  # of the queries: the table counts as learnt
SURE_AND_WRONG = 0.3  # of the weight: a row's largest less that on its right key
LITTLE = 0.05  # of a wrong row's gradient on the right key
SETTING = (D_K, OPTIMISER, LOSS, PAIRS, LEARNING_RATE, SEED)
COLUMNS = [chart.text_of(name) for name in DIVISORS]


def learning_rate(optimiser: str, loss: str, lr: Value) -> float:
    """Give the learning rate that "auto" stands for, or the one that was chosen."""
    return float(RATES[optimiser.lower(), loss] if lr == "auto" else lr)


@lru_cache(maxsize=128)
def trained(
    d_k: int, optimiser: str, loss: str, pairs: int, lr: Value, seed: int
) -> tuple[Training, float]:
    """Train with the three divisors, and give the learning rate too; all figures share it."""
    rate = learning_rate(optimiser, loss, lr)
    history = train_lookup(
        d_k,
        [1.0, math.sqrt(d_k), float(d_k)],
        n=pairs,
        steps=STEPS,
        lr=rate,
        loss=loss,
        optimiser=optimiser.lower(),
        seed=seed,
        kept=STEP.values,
    )
    return history, rate


def _curves(values: np.ndarray, hover: str, **parts: Any) -> list[Trace]:
    return [
        chart.line(DRAWN, curve[DRAWN], colour, f"divided by {name}", hover=hover, **parts)
        for curve, (name, colour) in zip(values, DIVISORS.items(), strict=True)
    ]


def _step_axis(**parts: Any) -> Layout:
    return chart.axis("training step", between=(-3, STEPS + 3), **parts)


@view("training.loss", *SETTING)
def loss(d_k: int, optimiser: str, loss: str, pairs: int, lr: Value, seed: int) -> Drawing:
    """Draw loss and accuracy against the step, divided by 1, √d_k and d_k."""
    history, rate = trained(d_k, optimiser, loss, pairs, lr, seed)
    right: Layout = {"xaxis": "x2", "yaxis": "y2", "showlegend": False}
    on_values = loss == "values"
    ends = dict(zip(COLUMNS, history.accuracy[:, -1], strict=True))
    shown = [_right(share) for share in ends.values()]
    return Drawing(
        data=[
            *_curves(history.loss, "at step %{x}: %{y:.3g}"),
            *_curves(history.accuracy, "at step %{x}: %{y:.0%}", **right),
            chart.line(
                [0, STEPS],
                [1 / pairs, 1 / pairs],
                "$ink",
                "chance",
                dash="dot",
                width=2,
                hover="%{y:.0%}",
                **{**right, "showlegend": True},
            ),
        ],
        layout=chart.layout(
            xaxis=_step_axis(domain=[0, 0.45]),
            yaxis=chart.axis(
                "loss",
                between=(1e-4, 1.3) if on_values else (1e-3, 200),
                log=True,
                grid=True,
                tickvals=[1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100],
                ticktext=["10⁻⁴", "0.001", "0.01", "0.1", "1", "10", "100"],
            ),
            xaxis2=_step_axis(domain=[0.58, 1], anchor="y2"),
            yaxis2=chart.axis(
                "queries that find their key",
                between=(-0.02, 1.04),
                grid=True,
                anchor="x2",
                tickformat=".0%",
            ),
            **chart.legend_above(),
        ),
        narrow=chart.stacked(2),
        caption=(
            f"Of {pairs} queries at dₖ = {d_k}, those that find their key after {STEPS} steps of "
            f"{optimiser} (learning rate {words.plain(rate)}): {shown[0]} not divided, {shown[1]} "
            f"divided by √dₖ, {shown[2]} divided by dₖ. Guessing finds {words.percent(1 / pairs)}."
        ),
        numbers={
            **{f"accuracy by {name}": float(end) for name, end in ends.items()},
            **{
                f"loss by {name}": float(end)
                for name, end in zip(COLUMNS, history.loss[:, -1], strict=True)
            },
            **{
                f"steps by {name}": float(steps)
                for name, steps in zip(COLUMNS, history.steps_to(ENOUGH), strict=True)
            },
            "learning rate": rate,
        },
        columns={
            "step": DRAWN,
            **{
                f"{what}, divided by {name}": curve[DRAWN]
                for what, curves in (("loss", history.loss), ("accuracy", history.accuracy))
                for name, curve in zip(COLUMNS, curves, strict=True)
            },
        },
        formula=_loss_formula(history, on_values),
        notice=_loss_notice(history, optimiser, on_values),
    )


def _right(share: float) -> str:
    return "no number (blown up)" if math.isnan(share) else words.percent(share)


def _loss_formula(history: Training, on_values: bool) -> str:
    which = (
        r"\tfrac12\,\overline{\lVert w_i V - v_{\pi(i)} \rVert^2}"
        if on_values
        else r"-\,\overline{\ln w_{i\,\pi(i)}}"
    )
    ends = (r"\text{none}" if math.isnan(end) else words.latex(end) for end in history.loss[:, -1])
    names = ("1", r"\sqrt{d_k}", "d_k")
    return (
        r"w_i = \operatorname{softmax}(q_i K^{\mathsf T}/T) \qquad L = "
        + which
        + r"\qquad "
        + r"\qquad ".join(f"L_{{T={name}}} = {end}" for name, end in zip(names, ends, strict=True))
    )


def _loss_notice(history: Training, optimiser: str, on_values: bool) -> str:
    if np.isnan(history.loss).any():
        return (
            "The learning rate is too large here: scores grow from step to step until no number "
            "holds them. That is another trouble than saturation; choose a smaller rate."
        )
    one, root, whole = history.steps_to(ENOUGH)
    paces = (
        f"{words.percent(ENOUGH)} of the queries are right {_after(one)} without a divisor, "
        f"{_after(root)} with √dₖ, {_after(whole)} with dₖ."
    )
    if not on_values:
        return (
            f"{paces} Here the loss sits on the weights themselves, and its logarithm cancels the "
            "softmax's slope: a saturated row that is wrong has the largest gradient of all. "
            "Attention inside a model has no such loss; its weights are reached through the values."
        )
    if one <= root:
        return (
            f"{paces} At this width the scores are small enough as they are, and dividing them "
            "only divides the gradient: √dₖ is **slower** here."
        )
    norms = history.gradient_norm[:2, 0]
    longer = (
        f"The very first gradient, by all queries and keys, is {words.number(norms[0])} long "
        f"without the divisor and {words.number(norms[1])} with √dₖ: it did not vanish."
    )
    if history.share[0, 0] < LITTLE:
        longer += " But little of it pulls towards the right keys, as the last figure shows."
    if math.isnan(root):
        return (
            f"{paces} With √dₖ it does not get there within {STEPS} steps either, so this setting "
            "says little about the divisor."
        )
    if optimiser == "Adam" and math.isnan(one):
        return (
            f"{paces} Adam makes small gradients large again, but cannot turn them towards the "
            f"right key. {longer}"
        )
    return f"{paces} {longer}"


def _after(steps: float) -> str:
    if math.isnan(steps):
        return f"in none of the {STEPS} steps"
    return f"after {steps:.0f} {'step' if steps == 1 else 'steps'}"


@view("training.weights", STEP, *SETTING)
def weights(
    step: int, d_k: int, optimiser: str, loss: str, pairs: int, lr: Value, seed: int
) -> Drawing:
    """Draw the three weight matrices at one step, the right keys on the diagonal."""
    history, _ = trained(d_k, optimiser, loss, pairs, lr, seed)
    # Columns in the order of the right keys, so that a learnt table is a diagonal.
    matrices = history.weights[:, history.kept.index(step)][:, :, history.target]
    right = np.diagonal(matrices, axis1=-2, axis2=-1)
    largest = matrices.max(axis=-1)
    axes = ["", "2", "3"]
    places = np.arange(pairs)
    ticks = list(range(0, pairs, max(1, pairs // 4)))
    labels: Layout = {
        "tickvals": ticks,
        "ticktext": [str(tick + 1) for tick in ticks],
        "showline": False,
    }
    data: list[Trace] = []
    for panel, matrix, name in zip(axes, matrices, DIVISORS, strict=True):
        at: Layout = {"xaxis": f"x{panel}", "yaxis": f"y{panel}"}
        data.append(
            {
                "type": "heatmap",
                # Whole per cent in plain text are a third of the bytes, and all that a shade shows.
                "z": (100 * np.nan_to_num(matrix)).round().astype(int).tolist(),
                "coloraxis": "coloraxis",
                "xgap": 1,
                "ygap": 1,
                "hovertemplate": f"query %{{y}}, divided by {name}: %{{z}} %<extra></extra>",
                **at,
            }
        )
    data += [
        {
            "type": "scatter",
            "mode": "markers",
            "x": places,
            "y": places,
            "marker": {
                "symbol": "circle-open",
                "size": 7 if pairs > 8 else 11,
                "color": "$unscaled",
                "line": {"width": 1.5},
            },
            "hoverinfo": "skip",
            "xaxis": f"x{panel}",
            "yaxis": f"y{panel}",
        }
        for panel in axes
    ]
    layout = chart.layout(
        coloraxis={
            "cmin": 0,
            "cmax": 100,
            "colorscale": "$sequential",
            "colorbar": {
                "thickness": 12,
                "x": 1.01,
                "tickvals": [0, 50, 100],
                "ticktext": ["0", "½", "1"],
                "outlinewidth": 0,
            },
        },
        annotations=[
            chart.heading(f"divided by {name}", axes=panel)
            for panel, name in zip(axes, DIVISORS, strict=True)
        ],
    )
    for place, panel in enumerate(axes):
        layout[f"xaxis{panel}"] = chart.axis(
            "right key of query",
            between=(-0.5, pairs - 0.5),
            domain=[0.345 * place, 0.345 * place + 0.31],
            **labels,
        )
        layout[f"yaxis{panel}"] = chart.axis(
            "query" if place == 0 else "", between=(pairs - 0.5, -0.5), **labels
        )
        if place:
            layout[f"xaxis{panel}"]["anchor"] = f"y{panel}"
            layout[f"yaxis{panel}"]["anchor"] = f"x{panel}"
    shares = [float(row.mean()) for row in right]
    means = [float(row.mean()) for row in largest]
    return Drawing(
        data=data,
        layout=layout,
        narrow=chart.stacked(3, height=250, gap=90, headed=True),
        caption=(
            f"{_when(step)} at dₖ = {d_k}, a query's mean weight on its right key (circled) is "
            f"{_weight(shares[0])} not divided, {_weight(shares[1])} divided by √dₖ, "
            f"{_weight(shares[2])} divided by dₖ. A row's largest weight is on average "
            f"{_weight(means[0])}, {_weight(means[1])} and {_weight(means[2])}."
        ),
        numbers={
            **{
                f"weight on the right key by {name}": v
                for name, v in zip(COLUMNS, shares, strict=True)
            },
            **{f"largest weight by {name}": v for name, v in zip(COLUMNS, means, strict=True)},
        },
        columns={
            "query": places + 1,
            "right key": history.target + 1,
            **{
                f"{what}, divided by {name}": row
                for what, rows in (("weight on it", right), ("largest weight", largest))
                for name, row in zip(COLUMNS, rows, strict=True)
            },
        },
        notice=_weights_notice(shares, means, step, history),
    )


def _weight(mean: float) -> str:
    return "no number (blown up)" if math.isnan(mean) else words.weight(mean)


def _when(step: int) -> str:
    if step == 0:
        return "Before training"
    return f"After {step} {'step' if step == 1 else 'steps'}"


def _on(step: int, reached: float) -> str:
    return ": drag on" if step < reached else ""


def _weights_notice(shares: list[float], means: list[float], step: int, history: Training) -> str:
    if any(map(math.isnan, shares)):
        return "A training that has blown up has no weights to show: its panel stays empty."
    if step == 0:
        return (
            f"Nothing is learnt yet. A row's largest weight is {words.weight(means[0])} without a "
            f"divisor, {words.weight(means[1])} with √dₖ, {words.weight(means[2])} with dₖ. Drag "
            "the step."
        )
    ways = ("Without a divisor", "Divided by √dₖ", "Divided by dₖ")
    for way, mean, share, reached in zip(
        ways, means, shares, history.steps_to(ENOUGH), strict=True
    ):
        if mean - share > SURE_AND_WRONG:
            wrong = (
                f"{way} rows are sure and wrong: {words.weight(mean)} on one key, "
                f"{words.weight(share)} on the right one."
            )
            if math.isnan(reached):
                return (
                    f"{wrong} Within {STEPS} steps too few of them find their way: a full cell off "
                    "the diagonal is hard to move."
                )
            return f"{wrong} At this width they still find their way{_on(step, reached)}."
    return (
        "Here no divisor leaves rows both sure and wrong; on the right key lie "
        f"{words.weight(shares[0])}, {words.weight(shares[1])} and {words.weight(shares[2])}, "
        f"where chance is 1/{len(history.target)}."
    )


@view("training.share", *SETTING)
def share(d_k: int, optimiser: str, loss: str, pairs: int, lr: Value, seed: int) -> Drawing:
    """Draw how large a wrong row's gradient is, and how much of it is on the right key."""
    history, _ = trained(d_k, optimiser, loss, pairs, lr, seed)
    right: Layout = {"xaxis": "x2", "yaxis": "y2", "showlegend": False}
    sizes, shares = history.row_gradient, history.share
    # A gradient can underflow to 0, which a logarithmic axis does not have; the table keeps it.
    drawn_sizes, drawn_shares = (np.maximum(x, np.finfo(float).tiny) for x in (sizes, shares))
    return Drawing(
        data=[
            *_curves(drawn_sizes, "at step %{x}: %{y:.3g}"),
            *_curves(drawn_shares, "at step %{x}: %{y:.3g}", **right),
        ],
        layout=chart.layout(
            xaxis=_step_axis(domain=[0, 0.43]),
            yaxis=chart.axis(
                "gradient of a wrong row",
                between=(1e-12, 1),
                log=True,
                grid=True,
                tickvals=[1e-12, 1e-9, 1e-6, 1e-3, 1],
                ticktext=["10⁻¹²", "10⁻⁹", "10⁻⁶", "0.001", "1"],
            ),
            xaxis2=_step_axis(domain=[0.58, 1], anchor="y2"),
            yaxis2=chart.axis(
                "share on the right key",
                between=(1e-20, 3),
                log=True,
                grid=True,
                anchor="x2",
                tickvals=[1e-20, 1e-15, 1e-10, 1e-5, 1],
                ticktext=["10⁻²⁰", "10⁻¹⁵", "10⁻¹⁰", "10⁻⁵", "1"],
            ),
            **chart.legend_above(),
        ),
        narrow=chart.stacked(2),
        caption=(
            f"Before training at dₖ = {d_k}, the typical wrong row has a gradient of "
            f"{_said(sizes[0, 0])} not divided and {_said(sizes[1, 0])} divided by √dₖ. Of it "
            f"{_said(shares[0, 0])} falls on the right key not divided, {_said(shares[1, 0])} "
            "divided by √dₖ; at most ½ can."
        ),
        numbers={
            **{
                f"{what} by {name}": float(curve[0])
                for what, curves in (("gradient", sizes), ("share", shares))
                for name, curve in zip(COLUMNS, curves, strict=True)
            },
        },
        columns={
            "step": DRAWN,
            **{
                f"{what}, divided by {name}": curve[DRAWN]
                for what, curves in (("gradient", sizes), ("share", shares))
                for name, curve in zip(COLUMNS, curves, strict=True)
            },
        },
        formula=(
            r"\text{share}_i = \frac{|\partial L/\partial s_{i\,\pi(i)}|}"
            r"{\sum_j |\partial L/\partial s_{ij}|} \le \tfrac12"
        ),
        notice=_share_notice(sizes[:, 0], shares[:, 0], loss == "values"),
    )


def _said(value: float) -> str:
    return "none (no row is wrong)" if math.isnan(value) else words.number(value)


def _share_notice(sizes: np.ndarray, shares: np.ndarray, on_values: bool) -> str:
    end = " A curve ends where no row is wrong any more."
    if not on_values:
        return (
            "With the loss on the weights half of every wrong row's gradient is on the right key, "
            "whatever the divisor. Saturation does not shrink it; only the divisor's own 1/T "
            f"does.{end}"
        )
    if math.isnan(shares[0]):
        return f"Without a divisor no row is wrong before training, so there is no share.{end}"
    if shares[0] > 0.01:
        return (
            "Here the typical wrong row's gradient finds the right key without a divisor too. "
            f"Widen the head or take more pairs, and watch the share fall.{end}"
        )
    return (
        f"The size is {words.number(sizes[0] / sizes[1])} times that with √dₖ; the share is "
        f"{words.number(shares[0] / shares[1])} times. Saturated rows pass the blame among their "
        "few leading keys: the right key's weight w is nearly 0, and its gradient carries w as a "
        f"factor.{end}"
    )
