"""Files that are there whole or not at all."""

from __future__ import annotations

from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Write beside the file and rename: who stops the program finds the old file or the new."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
