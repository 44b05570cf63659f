"""Saturated rows stop learning."""

import streamlit as st

from sdpa.parameters import D_K, GAP, N_KEYS, SCORES, TEMPERATURE
from sdpa.ui.lesson import begin, explain, limits, part, sources
from sdpa.ui.live_figure import show
from sdpa.views import VIEWS
from sdpa.views.words import power_of_ten

lesson = begin(
    "gradients",
    "Saturated rows stop learning",
    "A weight answers to its score with the slope $p(1-p)$. Where one key has won, p is near 1 "
    "and the slope is gone: it falls like e to the minus **gap**.",
    [GAP, D_K, N_KEYS, TEMPERATURE, SCORES],
)
gap = VIEWS["gradients.gap"]


@part
def slope() -> None:
    bench = lesson.bench("gap", GAP)
    with bench.aside:
        guess = lesson.predict(
            "Two scores lie 8 apart. How large is the slope $p(1-p)$? (At equal scores it is "
            "0.25.)",
            [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6],
            at={"gap": 8.0},
            answer=lambda: gap(gap=8.0).numbers["slope"],
            text=power_of_ten,
        )
    view = gap(**bench.state)
    said = "" if guess is None else f"you said {power_of_ten(guess)}"
    bench.show(view if guess is None else view.marked(said, y=guess, axes="2"))
    bench.presets(
        {
            "A tie": {"gap": 0.0},
            "Gap 4": {"gap": 4.0},
            "Gap 8": {"gap": 8.0},
            "Gap 16": {"gap": 16.0},
        },
        reset=True,
    )


@part
def typical_row() -> None:
    st.header("The typical row, not the average one", anchor=False)
    bench = lesson.bench("rows", D_K, N_KEYS)
    bench.show(VIEWS["gradients.rows"](**bench.state))
    bench.presets(
        {
            "Narrow head": {"d_k": 4},
            "Wide head": {"d_k": 256},
            "Wide head, 16 keys": {"d_k": 256, "keys": 16},
            "Widest head, 64 keys": {"d_k": 1024, "keys": 64},
        }
    )


@part
def one_row() -> None:
    st.header("One row's Jacobian, and the chain's own 1/T", anchor=False)
    bench = lesson.bench("jacobian", TEMPERATURE, SCORES)
    bench.show(VIEWS["gradients.jacobian"](**bench.state))
    bench.presets(
        {
            "[8, 4, 0], not divided": {"temperature": 1.0},
            "Divided by 8": {"temperature": 8.0},
            "Divided by 64": {"temperature": 64.0},
            "[20, 10, 0]": {"scores": "20, 10, 0", "temperature": 1.0},
        }
    )

    st.header("Where the gradient points", anchor=False)
    view = VIEWS["gradients.pointing"](**bench.state)
    show(view)
    explain(view)


limits(
    "- The **mean** gradient does not vanish: a few nearly tied rows keep it up, and without the "
    "divisor it is even larger. The more keys, the wider a head must be before the median dies.\n"
    "- $\\sqrt{d_k}$ is not the temperature that gives one row its largest gradient; it lies on "
    "the flat, safe side of that hill.\n"
    "- A larger divisor divides the gradient too: dividing by $d_k$ instead would make every row "
    "soft and every gradient small.\n"
    "- A loss placed on the weights themselves, −log p, cancels the factor p and does not "
    "saturate. Inside attention the loss reaches the weights through the values, so the factor "
    "stays."
)
sources(
    "Vaswani et al., 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), section 3.2.1, "
    "where the small gradients are a suspicion, not a measurement."
)
