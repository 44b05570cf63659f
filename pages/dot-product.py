"""A score is a dot product."""

import streamlit as st

from sdpa.parameters import ANGLE, CELL, LENGTH_K, LENGTH_Q, SEED, TERMS
from sdpa.ui.lesson import begin, limits, part, sources
from sdpa.views import VIEWS
from sdpa.views.words import plain

lesson = begin(
    "dot-product",
    "A score is a dot product",
    "How much a query cares for a key is one number: the two **lengths** times the cosine of the "
    "**angle** between them. The same number is a sum of $d_k$ products, and its size comes from "
    "there.",
    [ANGLE, LENGTH_Q, LENGTH_K, TERMS, CELL, SEED],
)
plane = VIEWS["dot_product.plane"]
asked = {"angle": 120, "length_q": 2.0, "length_k": 3.0}


@part
def plane_and_score() -> None:
    bench = lesson.bench("plane", ANGLE, LENGTH_Q, LENGTH_K)
    with bench.aside:
        guess = lesson.predict(
            "q is 2 long and k is 3 long. At an angle of 120°, what is the score?",
            [step / 2 for step in range(-12, 13)],
            at=asked,
            answer=lambda: plane(**asked).numbers["score"],
        )
    view = plane(**bench.state)
    said = "" if guess is None else f"you said {plain(guess)}"
    bench.show(view if guess is None else view.marked(said, y=guess, axes="2"))
    bench.presets(
        {
            "Same way": {"angle": 0},
            "Right angle": {"angle": 90},
            "Opposed": {"angle": 180},
            "60°, k twice as long": {"length_k": 4.0, "length_q": 2.0},
            "Longest arrows": {"angle": 0, "length_q": 4.0, "length_k": 4.0},
        },
        reset=True,
    )


@part
def products() -> None:
    st.header("In a head: one cell of $q k^{\\mathsf T}$ is a sum of $d_k$ products", anchor=False)
    bench = lesson.bench("sum", TERMS, CELL, SEED)
    bench.show(VIEWS["dot_product.sum"](**bench.state))
    bench.presets(
        {
            "A head 4 wide": {"terms": 4},
            "16 wide": {"terms": 16},
            "64 wide": {"terms": 64},
            "A cell that went far": {"cell": "q2·k1"},
            "Another draw": {"seed": 4, "cell": "q3·k2"},
        }
    )


limits(
    "- The law is about **random** q and k, drawn anew each time: one walk may well end outside "
    "$\\pm\\sqrt{d_k}$. `np.var` of the four entries of a single 2×2 product is 1.5 on average, "
    "not 2, and one draw of it may give 0.1 as well as 3.7.\n"
    "- The square root belongs to products that are independent with mean 0. If q and k agree, "
    "the sum grows like $d_k$ itself.\n"
    "- Lengths count: a long key gets a large score from every query that leans its way. Cosine "
    "similarity leaves the lengths out, and then needs a factor to be sharp at all."
)
sources(
    "Vaswani et al., 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), footnote 4: "
    "components that are independent with mean 0 and variance 1 give a dot product of variance "
    "$d_k$."
)
