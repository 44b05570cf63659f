"""Train a lookup table with and without √d_k."""

import streamlit as st

from sdpa import parameters as rows
from sdpa.ui.lesson import begin, explain, limits, part, sources
from sdpa.ui.live_figure import show
from sdpa.views import VIEWS
from sdpa.views.words import percent

FIRST = (rows.D_K, rows.OPTIMISER, rows.LOSS)
THIRD = (rows.PAIRS, rows.LEARNING_RATE, rows.SEED)
SHARED = (rows.SHARED_D_K, rows.SHARED_OPTIMISER, rows.SHARED_RATE)
lesson = begin(
    "training",
    "Train it: does the divisor matter?",
    "Each of 16 queries must learn which of 16 keys is its own, starting from random vectors. "
    "Gradient descent does it at every width if the scores are divided by $\\sqrt{d_k}$; if they "
    "are not, wide heads stall at this task.",
    [*FIRST, rows.STEP, *THIRD, *SHARED],
)
loss = VIEWS["training.loss"]
usual = {"optimiser": "SGD", "loss": "values", "lr": "auto", "pairs": 16, "seed": 0}


@part
def one_training() -> None:
    # All three figures show one training, so their controls come first and the figures after.
    first = lesson.bench("loss", *FIRST)
    under_first = st.container()
    st.header("Sure and wrong: the weights on the way", anchor=False)
    second = lesson.bench("matrices", rows.STEP)
    under_second = st.container()
    st.header("Where a wrong row's gradient points", anchor=False)
    third = lesson.bench("share", *THIRD)
    setting = {**first.state, **third.state}
    with first.aside:
        guess = lesson.predict(
            "At $d_k = 256$, after 200 steps without a divisor: what share of the queries find "
            "their key?",
            [step / 20 for step in range(21)],
            at={**usual, "d_k": 256},
            answer=lambda: loss(**usual, d_k=256).numbers["accuracy by 1"],
            text=percent,
            answer_text=percent,
        )
    view = loss(**setting)
    with first.figure:
        said = "" if guess is None else f"you said {percent(guess)}"
        show(view if guess is None else view.marked(said, y=guess, axes="2"))
    with under_first:
        explain(view)
        first.presets(
            {
                "A narrow head, dₖ = 4": {**usual, "d_k": 4},
                "dₖ = 64": {**usual, "d_k": 64},
                "A wide head, dₖ = 1024": {**usual, "d_k": 1024},
                "Does Adam rescue it?": {**usual, "d_k": 256, "optimiser": "Adam"},
                "Loss on the weights": {**usual, "d_k": 256, "loss": "weights"},
            },
            reset=True,
        )
    with under_second:
        second.show(VIEWS["training.weights"](**setting, **second.state))
    third.show(VIEWS["training.share"](**setting))


@part
def shared_projections() -> None:
    st.header("Shared projections: no standstill", anchor=False)
    bench = lesson.bench("shared", *SHARED)
    bench.show(VIEWS["training.shared"](**bench.state))
    bench.presets(
        {
            "Shared projections, dₖ = 256": {},
            "SGD, small steps": {"shared_optimiser": "SGD", "shared_lr": 0.1},
            "SGD, large steps": {"shared_optimiser": "SGD", "shared_lr": 10.0},
        }
    )


limits(
    "- The first figures show **one task**: free queries and keys, where no row learns from "
    "another. Behind shared projections the missing divisor costs steps and learning rates (last "
    "figure); “nothing learns without $\\sqrt{d_k}$” would claim too much.\n"
    "- At $d_k = 4$ the training **without** a divisor is the faster one.\n"
    "- With the loss on the weights themselves nothing stalls without a divisor. (Wide heads "
    "divided by $d_k$ take longer than 200 steps at its rate of 1.)\n"
    "- $\\sqrt{d_k}$ is a scaling law, not a magic constant: dividing by $d_k$ learns too, "
    "with a larger learning rate or with Adam. What $\\sqrt{d_k}$ gives is one learning rate that "
    "fits every width.\n"
    "- What matters is the scale of the scores when training begins: smaller first queries and "
    "keys would do as well as a divisor."
)
sources(
    "Vaswani et al., 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), section 3.2.1 and "
    "footnote 4, whose premise is the start here; that gradients get small is a suspicion there, "
    "not a measurement. Adam: Kingma and Ba, 2015, "
    "[arXiv:1412.6980](https://arxiv.org/abs/1412.6980)."
)
