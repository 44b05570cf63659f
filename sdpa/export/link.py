"""Links into the app, which restore a state."""

from __future__ import annotations

from urllib.parse import urlencode

from sdpa.views.view import View


def query(view: View) -> str:
    """Write the part of a link that restores the state: what is not a default.

    Examples
    --------
    >>> from sdpa.views import VIEWS
    >>> weights = VIEWS["temperature.weights"]
    >>> query(weights(temperature=1.0, scores="20, 10, 0")), query(weights())
    ('?temperature=1&scores=20,+10,+0', '')
    """
    moved = {
        row.key: row.text(view.state[row.key])
        for row in view.spec.parameters
        if view.state[row.key] != row.initial
    }
    return f"?{urlencode(moved, safe=',')}" if moved else ""
