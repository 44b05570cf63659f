"""What a view's state is called: in a link, in a file's name, in small print."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import urlencode

from sdpa.views.view import View

LONGEST_NAME = 80  # characters of a name's state; 64 typed scores are more
LONGEST_LINE = 130  # characters of small print that fit a picture


def moved(view: View) -> dict[str, str]:
    """Give what in the state is not a default, by its name in a link.

    Examples
    --------
    >>> from sdpa.views import VIEWS
    >>> moved(VIEWS["temperature.divisors"](d_k=256)), moved(VIEWS["temperature.divisors"]())
    ({'d_k': '256'}, {})
    """
    return {
        row.key: row.text(view.state[row.key])
        for row in view.spec.parameters
        if view.state[row.key] != row.initial
    }


def query(view: View) -> str:
    """Write the part of a link that restores the state: what is not a default.

    Examples
    --------
    >>> from sdpa.views import VIEWS
    >>> weights = VIEWS["temperature.weights"]
    >>> query(weights(temperature=1.0, scores="20, 10, 0")), query(weights())
    ('?temperature=1&scores=20,+10,+0', '')
    """
    state = moved(view)
    return f"?{urlencode(state, safe=',')}" if state else ""


def stem(view: View) -> str:
    """Name a view's files: by the view, and by what in its state is not a default.

    Examples
    --------
    >>> from sdpa.views import VIEWS
    >>> stem(VIEWS["temperature.weights"](temperature=1.0, scores="20, 10, 0"))
    'temperature.weights_temperature=1_scores=20-10-0'
    """
    state = "".join(
        f"_{key}={re.sub(r'[^-+.√₀-ₜA-Za-z0-9]+', '-', text)}" for key, text in moved(view).items()
    )
    if len(state) > LONGEST_NAME:
        state = f"{state[: LONGEST_NAME - 9]}-{hashlib.sha256(state.encode()).hexdigest()[:8]}"
    return view.name + state


def state_line(view: View) -> str:
    """Write the state and its link, as a picture's small print.

    Examples
    --------
    >>> from sdpa.views import VIEWS
    >>> state_line(VIEWS["temperature.divisors"](d_k=256))
    'temperature.divisors · d_k = 256 · ?d_k=256'
    """
    parts = [f"{row.key} = {row.text(view.state[row.key])}" for row in view.spec.parameters]
    line = " · ".join([view.name, *parts, *([link] if (link := query(view)) else [])])
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
