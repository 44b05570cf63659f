"""Scores spread like √d_k."""

import streamlit as st

from sdpa.parameters import D_K, SAMPLES, SEED
from sdpa.ui.lesson import begin, limits, part, sources
from sdpa.ui.live_figure import show
from sdpa.views import VIEWS

lesson = begin(
    "variance",
    "Scores spread like $\\sqrt{d_k}$",
    "A score is a sum of $d_k$ products. If each product has mean 0 and variance 1 and they are "
    "independent, the **variances** add up to $d_k$, so the standard deviation is $\\sqrt{d_k}$. "
    "Draw some and see.",
    [D_K, SAMPLES, SEED],
)
histogram = VIEWS["variance.histogram"]


@part
def spread() -> None:
    bench = lesson.bench("histogram", D_K, SAMPLES, SEED)
    with bench.aside:
        guess = lesson.predict(
            "With $d_k = 1024$, what is the standard deviation of a raw score?",
            [2, 4, 8, 16, 32, 64],
            at={"d_k": 1024},
            answer=lambda: histogram(d_k=1024).numbers["law"],
        )
    view = histogram(**bench.state)
    bench.show(view if guess is None else view.marked(f"you said {guess}", x=guess))
    bench.presets(
        {
            "dₖ = 16": {"d_k": 16},
            "dₖ = 256": {"d_k": 256},
            "dₖ = 4: heavy tails": {"d_k": 4, "samples": 100_000},
            "A small sample": {"d_k": 64, "samples": 1_000},
        },
        reset=True,
    )

    st.header("Four times the width, twice the spread", anchor=False)
    show(VIEWS["variance.growth"](**bench.state))


limits(
    "- The law needs independence. If the components of q are correlated with each other, and "
    "those of k too, the variance grows faster than $d_k$; if q and k are aligned, the **mean** "
    "grows like $d_k$.\n"
    "- It is a statement about many draws of q and k, not about the four entries of one 2 × 2 "
    "product, whose variance is typically anything from 0.1 to 3.7.\n"
    "- For one fixed query the spread of its row is ‖q‖, its own length, which is $\\sqrt{d_k}$ "
    "give or take 0.7.\n"
    "- The division makes no vector shorter and no variance “exactly one”: it divides every "
    "score by the same constant, at the start of training and ever after."
)
sources(
    "Vaswani et al., 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), footnote 4. The "
    "exact law of a sum of products of normal variables is the symmetric variance-gamma law."
)
