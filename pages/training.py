"""Train a lookup table with and without √d_k."""

import streamlit as st

from sdpa.parameters import D_K, LEARNING_RATE, LOSS, OPTIMISER, PAIRS, SEED, STEP
from sdpa.ui.lesson import begin, explain, limits, part, sources
from sdpa.ui.live_figure import show
from sdpa.views import VIEWS
from sdpa.views.words import percent

lesson = begin(
    "training",
    "Train it: does the divisor matter?",
    "Each of 16 queries must learn which of 16 keys is its own, starting from random vectors. "
    "Gradient descent does it at every width if the scores are divided by $\\sqrt{d_k}$; if they "
    "are not, wide heads stall at this task.",
    [D_K, OPTIMISER, LOSS, STEP, PAIRS, LEARNING_RATE, SEED],
)
loss = VIEWS["training.loss"]
usual = {"optimiser": "SGD", "loss": "values", "lr": "auto", "pairs": 16, "seed": 0}


@part
def one_training() -> None:
    # All three figures show one training, so their controls come first and the figures after.
    first = lesson.bench("loss", D_K, OPTIMISER, LOSS)
    under_first = st.container()
    st.header("Sure and wrong: the weights on the way", anchor=False)
    second = lesson.bench("matrices", STEP)
    under_second = st.container()
    st.header("Where a wrong row's gradient points", anchor=False)
    third = lesson.bench("share", PAIRS, LEARNING_RATE, SEED)
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

    view = VIEWS["training.weights"](**setting, **second.state)
    with second.figure:
        show(view)
    with under_second:
        explain(view)

    view = VIEWS["training.share"](**setting)
    with third.figure:
        show(view)
    explain(view)


limits(
    "- This is **one task**: a table of free queries and keys, where no row learns from another. "
    "In a Transformer they come from projections that all rows share, so that rows still alive "
    "move the dead ones too; expect a slower training and fewer learning rates that work there, "
    "not a standstill. This page does not show that case, and “nothing learns without "
    "$\\sqrt{d_k}$” would claim too much.\n"
    "- At $d_k = 4$ the training **without** a divisor is the faster one.\n"
    "- With the loss on the weights themselves nothing stalls without a divisor. (At its learning "
    "rate of 1, $d_k$ divides the gradient so far that wide heads take longer than 200 steps.)\n"
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
