"""√d_k is a temperature."""

import streamlit as st

from sdpa.parameters import D_K, SCORES, TEMPERATURE
from sdpa.ui.lesson import begin, limits, part, sources
from sdpa.views import VIEWS
from sdpa.views.words import weight

lesson = begin(
    "temperature",
    "The same ranking, a different certainty",
    "Softmax sees only **differences** between scores. Dividing every score by one number T "
    "leaves their order as it is and shrinks the differences. $\\sqrt{d_k}$ is such a "
    "temperature, fixed by the width of the head.",
    [TEMPERATURE, SCORES, D_K],
)
weights, asked = VIEWS["temperature.weights"], {"temperature": 8.0, "scores": "20, 10, 0"}
alone = weights(**asked).numbers["top weight not divided"]


@part
def one_row() -> None:
    bench = lesson.bench("weights", TEMPERATURE, SCORES)
    with bench.aside:
        guess = lesson.predict(
            f"The scores are 20, 10, 0, and the top key takes {weight(alone)}. Divided by "
            "$\\sqrt{64} = 8$, what weight does it take?",
            [step / 20 for step in range(21)],
            at=asked,
            answer=lambda: weights(**asked).numbers["top weight"],
            answer_text=weight,
        )
    view = weights(**bench.state)
    bench.show(view if guess is None else view.marked(f"you said {guess:g}", y=guess))
    bench.presets(
        {
            "Small scores [0.2, 0.1, 0]": {"scores": "0.2, 0.1, 0", "temperature": 1.0},
            "Large scores [20, 10, 0]": {"scores": "20, 10, 0", "temperature": 1.0},
            "A typical row at dₖ = 64": {"scores": "8, 4, 0", "temperature": 1.0},
            "The same, divided by 8": {"scores": "8, 4, 0", "temperature": 8.0},
            "100 and 101": {"scores": "100, 101", "temperature": 1.0},
        },
        reset=True,
    )


@part
def divisors() -> None:
    st.header("Divide by 1, by $\\sqrt{d_k}$, or by $d_k$?", anchor=False)
    bench = lesson.bench("divisors", D_K)
    bench.show(VIEWS["temperature.divisors"](**bench.state))


limits(
    "- As algebra $\\sqrt{d_k}$ **is** a temperature. Its role differs from the temperature of "
    "sampling: it is fixed, tied to the width, and there in training too, so the weights adapt to "
    "it.\n"
    "- The row above moves as $[1, \\tfrac12, 0]\\cdot\\sqrt{d_k}$. Scores that are held fixed "
    "would not change with $d_k$ at all: the width acts through the draw.\n"
    "- $\\sqrt{d_k}$ removes the dependence on the **width**. It does nothing about the number of "
    "keys: with more keys every row gets flatter.\n"
    "- It is a scaling law, not a magic constant: $2\\sqrt{d_k}$ would keep rows alike at every "
    "width just as well, only flatter. What matters is that it grows with the width like the "
    "scores do."
)
sources(
    "Vaswani et al., 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), section 3.2.1."
)
