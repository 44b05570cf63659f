"""The questions of the page that checks what a reader has understood.

Each has a view in the state that decides it: the right number, and every number of the
explanation, is one that this view has computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sdpa.alternatives import liquid_participation
from sdpa.attention import softmax
from sdpa.parameters import SEED, Value
from sdpa.views import VIEWS
from sdpa.views.view import View
from sdpa.views.words import number, percent, weight, weights

Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Choice:
    """One of several sentences, of which one is right.

    Parameters
    ----------
    options : tuple of str
        What can be said.
    right : int
        The place of the right one, from 0.
    """

    options: tuple[str, ...]
    right: int


@dataclass(frozen=True)
class Number:
    """A number of the evidence, asked for within a tolerance.

    Parameters
    ----------
    name : str
        Its name in the view's ``numbers``.
    tolerance : float
        How far off still counts as right, in the unit that is asked for.
    unit : str
        "%" for a share that is asked for in per cent.
    write : callable
        Writes the right answer.
    """

    name: str
    tolerance: float
    unit: str = ""
    write: Callable[[float], str] = number


@dataclass(frozen=True)
class Question:
    """A question with the evidence that decides it.

    Parameters
    ----------
    name, topic : str
        Its name in the code, and two or three words for lists.
    prompt : str
        What is asked, in Markdown.
    reply : Choice or Number
        How it is answered.
    why : callable
        From the numbers of the evidence to two or three sentences.
    view, state : str, dict
        The evidence: a view in one state; its page shows the same.
    lesson : str
        The ``url_path`` of that page.
    """

    name: str
    topic: str
    prompt: str
    reply: Choice | Number
    why: Callable[[Numbers], str]
    view: str
    lesson: str
    state: Mapping[str, Value] = field(default_factory=dict)

    @property
    def evidence(self) -> View:
        """The view that decides it."""
        return VIEWS[self.view](**self.state)

    @property
    def explanation(self) -> str:
        """Why the right answer is right."""
        return self.why(self.evidence.numbers)

    @property
    def link(self) -> dict[str, str]:
        """The state as the lesson's link has it."""
        rows = {row.key: row for row in VIEWS[self.view].parameters}
        return {key: rows[key].text(value) for key, value in self.state.items()}

    @property
    def answer(self) -> str:
        """The right answer as it is written."""
        if isinstance(self.reply, Choice):
            return self.reply.options[self.reply.right]
        written = self.reply.write(self.target)
        return f"{written} {self.reply.unit}".rstrip()

    @property
    def target(self) -> float:
        """The right number, in the unit that is asked for."""
        if isinstance(self.reply, Choice):
            raise ValueError(f"{self.name} must be answered by a number, it is by choice")
        value = self.evidence.numbers[self.reply.name]
        return 100 * value if self.reply.unit == "%" else value

    def is_right(self, reply: str | float) -> bool:
        """Judge a reply: the option's text, or the number."""
        if isinstance(self.reply, Choice):
            return reply == self.answer
        return abs(float(reply) - self.target) <= self.reply.tolerance * (1 + 1e-9)


def _spread(n: Numbers) -> str:
    narrow = VIEWS["variance.histogram"](d_k=16).numbers["law"]
    return (
        "Each product has variance 1, and variances of independent terms add up: at dₖ = 256 the "
        f"scores have variance 256 and standard deviation {number(n['law'])}. The sampled ones "
        f"have {number(n['standard deviation'])}; 16 times narrower heads have {number(narrow)}, "
        "only 4 times less."
    )


def _one_draw(n: Numbers) -> str:
    draws = [VIEWS["dot_product.sum"](seed=seed).numbers for seed in SEED.values]
    found = sorted(draw["root mean square"] for draw in draws)
    return (
        f"The law's √64 = {number(n['law'])} is an average over draws of q and k. Twelve scores "
        f"of one draw share three queries and four keys, so they scatter: here their root mean "
        f"square is {number(n['root mean square'])}, and over ten seeds it goes from "
        f"{number(found[0])} to {number(found[-1])}."
    )


def _arithmetic(n: Numbers) -> str:
    row = weights(softmax([2.0, 1.0, 1.0]))
    doubled = weights(softmax([4.0, 2.0, 2.0]))
    return (
        f"Softmax does not share in proportion to the scores: a lead of 1 is worth a factor e, so "
        f"the weights are {row}. Twice the scores are twice the lead, and the weights become "
        f"{doubled}."
    )


def _hundred(n: Numbers) -> str:
    apart = VIEWS["temperature.weights"](temperature=1.0, scores="1, 0").numbers["top weight"]
    return (
        f"Softmax sees only differences: 101 and 100 give the larger one "
        f"{weight(n['top weight'])}, and 1 and 0 give it {weight(apart)}. It is a large "
        "**spread** of the scores that saturates a row, not a large size."
    )


def _maximum(n: Numbers) -> str:
    plain = VIEWS["overflow.invariance"](offset=0, gap=8.0).numbers["top weight"]
    return (
        f"Two scores 8 apart give {weight(plain)}, and with 100 added to both "
        f"{weight(n['top weight'])}: what is the same for all scores cancels. So subtracting the "
        "maximum keeps exp finite, but a saturated row stays as saturated as it was, its "
        "gradient too."
    )


def _overflow(n: Numbers) -> str:
    top = VIEWS["chain.chain"](d_k=64).numbers
    return (
        f"In float32 a row of 8 raw scores overflows a plain exp with probability "
        f"{number(n['float32'])}: in practice never. In float16 it is {number(n['float16'])}, but "
        "subtracting the maximum cures that at any scale. The divisor is there for the gaps: it "
        f"takes a typical row's top key from {weight(top['top weight not divided'])} to "
        f"{weight(top['top weight divided'])}."
    )


def _unit_variance(n: Numbers) -> str:
    return (
        "It divides all scores by one constant and measures nothing. A spread of 1 follows if the "
        "components of q and k are independent with variance 1, as at the start of training. In "
        f"a trained encoder the median head has {number(n['median divided'])} after the division "
        f"by √32, and the widest {number(n['widest'] / n['√32'])}."
    )


def _learn_the_scale(n: Numbers) -> str:
    adam = VIEWS["training.loss"](d_k=256, optimiser="Adam").numbers["accuracy by 1"]
    return (
        f"{percent(n['accuracy by 1'])} find their key, against "
        f"{percent(n['accuracy by √d_k'])} with √dₖ and {percent(1 / 16)} by guessing. The model "
        "could learn the scale, but from saturated rows hardly any gradient points there; Adam "
        f"gets {percent(adam)} in the same time."
    )


def _no_divisor(n: Numbers) -> str:
    return (
        "A constant can go into W_q: T5 starts it smaller by √dₖ, so its scores start as spread "
        "out as divided ones, and dividing on top would scale twice. The figure shows the other "
        f"way: at dₖ = 64, components {number(n['value'], 2)} times as large take the spread from "
        f"{number(n['premises kept'])} to {number(n['law'])}. After the first step of training "
        "the two ways may part, since most optimisers' steps do not shrink with the weights."
    )


def _which_d(n: Numbers) -> str:
    return (
        f"A score adds up as many products as the dotted vectors have components, here "
        f"512 / 8 = {n['d_k']:g}. Dividing by √512 = {number(n['wrong root'])} would make scores "
        f"{number(n['times too flat'])} times too flat: the top of 8 typical keys gets "
        f"{weight(n['top weight by √d_model'])} in place of {weight(n['top weight by √d_k'])}."
    )


def _query_first(n: Numbers) -> str:
    return (
        "(q/c)·k and (q·k)/c are one number; only rounding and range can differ. In float16 equal "
        f"components of q and k may reach {number(n['component limit'])} before q·k overflows, and "
        f"{number(n['component limit, q divided first'])} if q is divided first. It is cheaper "
        "too: there are fewer components of q than scores in a long row."
    )


def _temperature(n: Numbers) -> str:
    return (
        f"Divided by T = 8, [8, 4, 0] gives its top key {weight(n['top weight'])}, undivided "
        f"{weight(n['top weight not divided'])}; the order is the same. Sampling applies its "
        "temperature to a finished model's output and may change it at will; √dₖ is fixed by the "
        "width and there in training too, so the weights have adapted to it."
    )


def _mean_gradient(n: Numbers) -> str:
    return (
        f"The mean is {number(n['mean, not divided'])} without the divisor and "
        f"{number(n['mean, divided'])} with it: a few nearly tied rows hold most of it. The "
        f"typical row tells the other story: the median is {number(n['median, not divided'])} "
        f"against {number(n['median, divided'])}, and {percent(n['dead_share, not divided'])} of "
        f"the undivided rows are dead, {percent(n['dead_share, divided'])} of the divided ones."
    )


def _largest_weight(n: Numbers) -> str:
    one_gap = softmax([n["std"], 0.0])[0]
    return (
        f"It is {weight(n['largest weight'])} on average; divided by √dₖ, "
        f"{weight(n['largest weight by √d_k'])}. What counts is the gap between the two "
        "**largest** scores, and that is smaller than their standard deviation, "
        f"{number(n['std'])}: a gap of that size would give {weight(one_gap)}."
    )


def _scale_one(n: Numbers) -> str:
    bare = VIEWS["alternatives.width"](rule="divide by 1", d_k=256, keys=8).numbers
    return (
        "With q and k brought to mean square 1 and a gain that carries the scale, the largest "
        f"weight of 8 random keys at dₖ = 256 is {weight(n['largest weight'])} on average, as it "
        f"is divided by √dₖ ({weight(n['largest weight by √d_k'])}). Without norm and divisor it "
        f"would be {weight(bare['largest weight'])}. The textbook's premise has to be checked "
        "before its conclusion is drawn."
    )


def _aligned(n: Numbers) -> str:
    return (
        "Independent terms add up like √dₖ, terms that agree like dₖ. At dₖ = 1024 independent q "
        f"and k give {number(n['independent by √d_k'])} by √dₖ and "
        f"{number(n['independent by d_k'])} by dₖ; with components correlated by 0.2 the mean "
        f"score is {number(n['aligned by √d_k'])} by √dₖ, growing with the width, and "
        f"{number(n['aligned by d_k'])} by dₖ."
    )


def _subtract_log(n: Numbers) -> str:
    scores = [3.0, 1.0, 0.0]
    shift = math.log(len(scores))
    before, after = (weights(softmax([s - c for s in scores])) for c in (0.0, shift))
    return (
        f"One constant on all scores cancels: [3, 1, 0] gives {before}, less ln 3 it gives "
        f"{after}. **Multiplying** by ln n does work: a key 3 standard deviations ahead of 1,023 "
        f"equal ones gets {weight(n['leading weight'])}, divided by √dₖ alone "
        f"{weight(n['leading weight by √d_k'])}."
    )


def _drift(n: Numbers) -> str:
    start = VIEWS["alternatives.drift"](rule="divide by √dₖ", growth=1).numbers
    normed = VIEWS["alternatives.drift"](rule="QK-norm", growth=16).numbers
    return (
        f"√dₖ is right at the start: 16 keys, largest weight {weight(start['largest weight'])} on "
        f"average. If training makes q and k grow until scores are 16 times as large, it is "
        f"{weight(n['largest weight'])}. That is what QK-norm "
        f"({weight(normed['largest weight'])} in the same case) and soft caps are for."
    )


def _output(n: Numbers) -> str:
    spread = math.sqrt(1 / liquid_participation(256))
    return (
        "The output is an average of values, and averages spread less: by √Σp², which for 256 "
        f"keys and logits of spread 1 is about {number(spread)}. Here the largest weight is "
        f"{number(n['largest weight'])} on average, so many keys share. The scale of the scores "
        "and that of the output are two questions."
    )


QUESTIONS = (
    Question(
        "spread",
        "Spread at dₖ = 256",
        "The components of q and k are independent, with mean 0 and variance 1. What is the "
        "**standard deviation** of $q \\cdot k$ at $d_k = 256$?",
        Number("law", 0.5),
        _spread,
        "variance.histogram",
        "variance",
        {"d_k": 256},
    ),
    Question(
        "one-draw",
        "One draw and the law",
        "You draw 3 queries and 4 keys at $d_k = 64$ and look at the 12 scores. Their root mean "
        "square is not 8. What is wrong?",
        Choice(
            (
                "The variance must be divided by the number of keys",
                "Nothing: the law speaks of the average over many draws of q and k",
                "The components were not drawn with variance 1",
            ),
            1,
        ),
        _one_draw,
        "dot_product.sum",
        "dot-product",
        {"seed": 3},
    ),
    Question(
        "arithmetic",
        "Softmax by hand",
        "What weight does softmax give to the first of the scores 2, 1, 1?",
        Number("top weight", 0.02, write=weight),
        _arithmetic,
        "temperature.weights",
        "temperature",
        {"temperature": 1.0, "scores": "2, 1, 1"},
    ),
    Question(
        "hundred",
        "Scores of 100 and 101",
        "Two scores are 100 and 101. What weight does softmax give to the larger one?",
        Number("top weight", 0.02, write=weight),
        _hundred,
        "temperature.weights",
        "temperature",
        {"temperature": 1.0, "scores": "100, 101"},
    ),
    Question(
        "maximum",
        "Subtracting the maximum",
        "A row of scores is saturated. What does it change to subtract the row's maximum before "
        "softmax?",
        Choice(
            (
                "The row gets softer, as if it were divided",
                "The weights stay, but the gradient comes back",
                "No weight and no gradient; exp just cannot overflow any more",
            ),
            2,
        ),
        _maximum,
        "overflow.invariance",
        "overflow",
        {"offset": 100, "gap": 8.0},
    ),
    Question(
        "overflow",
        "What the divisor is for",
        "In float32, why does attention divide by $\\sqrt{d_k}$ at $d_k = 64$?",
        Choice(
            (
                "Gaps between scores grow with the width, and rows would saturate",
                "Without it, exp of a typical score would overflow",
                "Both: it prevents overflow and saturation alike",
            ),
            0,
        ),
        _overflow,
        "overflow.chance",
        "overflow",
        {"d_k": 64, "keys": 8},
    ),
    Question(
        "unit-variance",
        "Variance exactly 1?",
        "After the division by $\\sqrt{d_k}$, do the scores of a **trained** head have variance 1?",
        Choice(
            (
                "Yes, that is what the division computes",
                "Yes, since layer norm comes before the projections",
                "Only if the components of q and k still have variance 1 and are independent",
            ),
            2,
        ),
        _unit_variance,
        "assumptions.spread",
        "assumptions",
        {"layer": 0, "head": 2},
    ),
    Question(
        "learn-the-scale",
        "Learning the scale",
        "16 queries each have one right key, $d_k = 256$, the loss is on the values. After 200 "
        "steps of SGD **without a divisor**, how many per cent of them find their key?",
        Number("accuracy by 1", 12.5, "%", lambda share: f"{share:.0f}"),
        _learn_the_scale,
        "training.loss",
        "training",
        {"d_k": 256},
    ),
    Question(
        "no-divisor",
        "A model without divisor",
        "T5's code has no $1/\\sqrt{d_k}$. Is that a bug?",
        Choice(
            (
                "No: its query weights start smaller by that factor",
                "Yes: its rows are saturated from the start",
                "No: T5 has narrow heads, where it makes no difference",
            ),
            0,
        ),
        _no_divisor,
        "assumptions.law",
        "assumptions",
        {"premise": "spread", "amount": 5, "d_k": 64},
    ),
    Question(
        "which-d",
        "Which d?",
        "A model is 512 wide and has 8 heads. By what number are its scores divided?",
        Number("root", 0.05),
        _which_d,
        "attention.divisors",
        "attention",
        {"d_model": 512, "heads": 8},
    ),
    Question(
        "query-first",
        "Dividing q first",
        "Someone's code divides **q** by $\\sqrt{d_k}$ and leaves $q \\cdot k$ as it comes. What "
        "does that change?",
        Choice(
            (
                "Only half of the score is divided, so rows are too sharp",
                "In exact arithmetic nothing, and in float16 it is safer",
                "k should be divided too, or the gradients of q and k differ",
            ),
            1,
        ),
        _query_first,
        "overflow.dot_product",
        "overflow",
        {"d_k": 64},
    ),
    Question(
        "temperature",
        "Temperature",
        "Is $\\sqrt{d_k}$ the same thing as the temperature of sampling?",
        Choice(
            (
                "As algebra yes; but it is fixed by the width, and there in training too",
                "Yes: both can be chosen freely after training",
                "No: a temperature changes the ranking, a divisor does not",
            ),
            0,
        ),
        _temperature,
        "temperature.weights",
        "temperature",
        {"temperature": 8.0, "scores": "8, 4, 0"},
    ),
    Question(
        "mean-gradient",
        "The mean gradient",
        "Random rows of 8 keys at $d_k = 64$: how does the **mean** gradient without the divisor "
        "compare with that with it?",
        Choice(
            (
                "It is almost zero: every row is saturated",
                "It is smaller, by about the factor 8",
                "It is larger",
            ),
            2,
        ),
        _mean_gradient,
        "gradients.rows",
        "gradients",
        {"d_k": 64, "keys": 8},
    ),
    Question(
        "largest-weight",
        "How saturated at 64?",
        "Random rows of 16 keys at $d_k = 64$, not divided: how large is a row's largest weight on "
        "average?",
        Number("largest weight", 0.06, write=weight),
        _largest_weight,
        "alternatives.width",
        "alternatives",
        {"rule": "divide by 1", "d_k": 64, "keys": 16},
    ),
    Question(
        "scale-one",
        "A scale of 1.0",
        "A model's configuration says that its scores are multiplied by 1.0, not by "
        "$1/\\sqrt{d_k}$. Will its rows saturate?",
        Choice(
            (
                "Yes: scores spread like the root of the width",
                "That depends: norms on q and k with a learned gain would carry the scale",
                "No: training always finds the right scale",
            ),
            1,
        ),
        _scale_one,
        "alternatives.width",
        "alternatives",
        {"rule": "RMS QK-norm", "d_k": 256, "keys": 8},
    ),
    Question(
        "aligned",
        "Root or width",
        "μP divides by $d_k$ instead of $\\sqrt{d_k}$. When does that keep scores alike at every "
        "width?",
        Choice(
            (
                "When q and k are independent",
                "Never: it is a known mistake",
                "When training has aligned q and k, so that the products agree",
            ),
            2,
        ),
        _aligned,
        "width.aligned",
        "width",
        {"d_k": 1024},
    ),
    Question(
        "subtract-log",
        "Long contexts",
        "With more keys rows get flatter. Someone subtracts $\\ln n$ from every score, n being "
        "the number of keys. What happens?",
        Choice(
            (
                "Rows stay as sharp as with few keys",
                "Nothing at all",
                "Rows get flatter still",
            ),
            1,
        ),
        _subtract_log,
        "alternatives.length",
        "alternatives",
        {"rule": "log n", "n": 1024},
    ),
    Question(
        "drift",
        "After the start",
        "Scores have been divided by $\\sqrt{d_k}$ all along. Can rows still saturate late in "
        "training?",
        Choice(
            (
                "Yes: q and k may grow, and the divisor stays as it is",
                "No: the spread of divided scores is 1 at every step",
                "Only in number formats of 16 bits",
            ),
            0,
        ),
        _drift,
        "alternatives.drift",
        "alternatives",
        {"rule": "divide by √dₖ", "growth": 16},
    ),
    Question(
        "output",
        "The output's spread",
        "Divided scores spread by 1, and the values are independent with variance 1. With 256 "
        "keys, does the **output** of attention spread by 1 too?",
        Choice(
            (
                "Yes: the weights of a row add up to 1",
                "No, by more: it adds up 256 values",
                "No, by far less: it is an average",
            ),
            2,
        ),
        _output,
        "alternatives.length",
        "alternatives",
        {"rule": "divide by √dₖ", "n": 256},
    ),
)
