"""By hand: [8, 4, 0] at d_k = 64."""

import streamlit as st

from sdpa.parameters import D_K, SCORES
from sdpa.ui.lesson import begin, limits, part, sources
from sdpa.ui.present import shows
from sdpa.views import VIEWS
from sdpa.views.words import weight
from sdpa.views.worked_example import as_latex, as_numpy

lesson = begin(
    "worked-example",
    "By hand: the scores [8, 4, 0] at $d_k = 64$",
    "Three raw scores as a head with $d_k = 64$ typically makes them: one standard deviation up, "
    "half a one, and none. Follow every line with a pocket calculator, then type your own.",
    [D_K, SCORES],
)
lines, asked = VIEWS["worked_example.lines"], {"d_k": 64, "scores": "16, 8, 0"}


@part
def by_hand() -> None:
    bench = lesson.bench("lines", D_K, SCORES)
    with bench.aside:
        guess = lesson.predict(
            "The scores 16, 8, 0 divided by $\\sqrt{64} = 8$ are 2, 1, 0. What weight does the "
            "**last** key get?",
            [step / 20 for step in range(21)],
            at=asked,
            answer=lambda: lines(**asked).numbers["last weight divided"],
            answer_text=weight,
        )
    view = lines(**bench.state)
    bench.show(view if guess is None else view.marked(f"you said {guess:g}", y=guess))
    bench.presets(
        {
            "[8, 4, 0] at dₖ = 64": {},
            "[0.2, 0.1, 0]": {"scores": "0.2, 0.1, 0"},
            "[20, 10, 0]": {"scores": "20, 10, 0"},
            "[16, 8, 0] at dₖ = 256": {"scores": "16, 8, 0", "d_k": 256},
        },
        reset=True,
    )

    if shows("prose"):
        st.header("Take it with you", anchor=False)
        latex, numpy, csv = st.tabs(["LaTeX", "NumPy", "CSV"])
        latex.code(as_latex(**bench.state), language="latex", wrap_lines=True)
        numpy.code(as_numpy(**bench.state), language="python", wrap_lines=True)
        csv.code(view.table.to_csv(index=False), language="text", wrap_lines=True)


limits(
    "- [8, 4, 0] is one typical draw at $d_k = 64$, not a law: at another width the draw would be "
    "another one. Changing $d_k$ here changes the divisor of **these** numbers only.\n"
    "- A row [0.9997, …] at $d_k = 64$, as is sometimes shown, is not typical: what counts is the "
    "gap between the two largest scores, about 4 for 16 keys, not the spread 8."
)
sources(
    "Vaswani et al., 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), section 3.2.2: "
    "the base model has $d_k = 64$, so its divisor is 8."
)
