"""The NumPy code that gives a view's numbers in its state.

``snippets/`` holds one program a view, ``temperature.weights`` in ``temperature_weights.py``: a
file that runs by itself and is checked like any other. Its parameters stand at the left edge as
``d_k = 64``; the code of a state is the program with those lines set to the state.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from sdpa.parameters import Value
from sdpa.views.view import View

FOLDER = Path(__file__).parent / "snippets"


def code(view: View) -> str:
    """Write the program whose ``numbers`` are the view's.

    Examples
    --------
    >>> from sdpa.views import VIEWS
    >>> code(VIEWS["temperature.divisors"](d_k=256)).splitlines()[4]
    'd_k = 256'
    """
    program = _program(view.name)
    for key, value in view.state.items():
        line = f"{key} = {_written(value)}".replace("\\", r"\\")  # re reads backslashes
        program, found = re.subn(rf"^{key} = .*$", line, program, flags=re.MULTILINE)
        if found != 1:
            raise LookupError(f"the program of {view.name} must set {key} once, got {found} times")
    return program


def about(name: str) -> str:
    """Say in a sentence what a view shows: the first line of its program.

    Examples
    --------
    >>> about("temperature.divisors")
    'A typical row of three keys, divided by 1, by √dₖ and by dₖ.'
    """
    return _program(name).split('"""')[1].splitlines()[0].replace("d_k", "dₖ")


@cache
def _program(name: str) -> str:
    return (FOLDER / f"{name.replace('.', '_')}.py").read_text(encoding="utf-8")


def _written(value: Value) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(repr(number).removesuffix('.0') for number in value)}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
