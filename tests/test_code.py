"""Every view's program, run: its numbers are the view's."""

import ast
import io
from contextlib import redirect_stdout

import numpy as np
import pytest

from sdpa.views import VIEWS
from sdpa.views.code import FOLDER, code

FILES = sorted(FOLDER.glob("*.py"))
OTHER = {  # states that take another way through the program than the default
    "attention.maps": [{"mask": "hide all from query 3", "row": 3, "softcap": "5", "seed": 7}],
    "attention.steps": [{"mask": "causal", "softcap": "2"}, {"mask": "hide last key", "d_k": 16}],
    "assumptions.law": [
        {"premise": "layer norm", "amount": 5},
        {"premise": "shape and tails", "amount": 5},
    ],
    "gradients.jacobian": [{"scores": "5, 5, 1"}, {"scores": "3"}, {"scores": "300, 0, -7, 299"}],
    "overflow.steps": [{"offset": 20}, {"format": "bfloat16", "scores": "1000, 999, 998"}],
    "training.loss": [{"optimiser": "Adam", "loss": "weights", "lr": 0.1, "pairs": 4}],
    "training.shared": [{"shared_optimiser": "SGD", "shared_lr": 0.1, "shared_d_k": 64}],
    "worked_example.lines": [{"scores": "0.1, -12.5, 1e-7", "d_k": 4}],
}


def ends(name):
    """The state with the first value of each parameter, and the one with the last."""
    rows = [row for row in VIEWS[name].parameters if row.values]
    return [{row.key: row.values[end] for row in rows} for end in (0, -1)]


CASES = [
    pytest.param(name, state, id=f"{name}-{n}")
    for name in VIEWS
    for n, state in enumerate([{}, *ends(name), *OTHER.get(name, [])])
]


def run(program):
    said, scope = io.StringIO(), {}
    with redirect_stdout(said):
        exec(compile(program, "<program>", "exec"), scope)
    return scope["numbers"], said.getvalue()


def test_every_view_has_a_program_and_every_program_a_view():
    assert [path.stem for path in FILES] == sorted(name.replace(".", "_") for name in VIEWS)


@pytest.mark.parametrize(("name", "state"), CASES)
def test_the_program_s_numbers_are_the_view_s(name, state):
    view = VIEWS[name](**state)
    numbers, said = run(code(view))
    assert numbers.keys() == view.numbers.keys()
    for key, number in view.numbers.items():
        # Absolute for what is a rounding away from 0, such as a score at a right angle.
        np.testing.assert_allclose(float(numbers[key]), number, rtol=1e-6, atol=1e-14, err_msg=key)
    assert len(said.splitlines()) == len(numbers)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_program_needs_numpy_and_the_core_alone(path):
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {
        alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names
    }
    assert modules <= {"numpy", "math", "statistics"} | {
        f"sdpa{core}"
        for core in ("", ".alternatives", ".formats", ".projections", ".statistics", ".training")
    }
