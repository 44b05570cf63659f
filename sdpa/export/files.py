"""Files that are there whole or not at all."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from sdpa.views.view import View

LONGEST = 80  # characters of a name's state; 64 typed scores are more


def stem(view: View) -> str:
    """Name a view's files: by the view, and by what in its state is not a default.

    Examples
    --------
    >>> from sdpa.views import VIEWS
    >>> stem(VIEWS["temperature.weights"](temperature=1.0, scores="20, 10, 0"))
    'temperature.weights_temperature=1_scores=20-10-0'
    """
    moved = "".join(
        f"_{row.key}={re.sub(r'[^-+.√₀-ₜA-Za-z0-9]+', '-', row.text(view.state[row.key]))}"
        for row in view.spec.parameters
        if view.state[row.key] != row.initial
    )
    if len(moved) > LONGEST:
        moved = f"{moved[: LONGEST - 9]}-{hashlib.sha256(moved.encode()).hexdigest()[:8]}"
    return view.name + moved


def write(path: Path, content: bytes) -> None:
    """Write beside the file and rename: who stops the program finds the old file or the new."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
