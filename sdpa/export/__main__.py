"""Entry of ``python -m sdpa.export``."""

import io
import sys

from sdpa.export.command import main

if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a console that has no √ shows a ?
    sys.exit(main())
