"""The spread of a trained head's scores, predicted step by step from footnote 4.

Runs in the lesson's folder; `ladder` in `sdpa/heads.py` has the formula of each step.
"""

import numpy as np

from sdpa import heads

head = 1
layer = 3

mine, every = np.sqrt(heads.ladder(layer, head)), heads.ladders()
middle = np.sqrt(np.median(every, axis=(0, 1)))
numbers = {
    **{f"{step}, this head": x for step, x in zip(heads.LADDER_STEPS, mine, strict=True)},
    **{f"{step}, median": x for step, x in zip(heads.LADDER_STEPS, middle, strict=True)},
    "largest": np.sqrt(every.max()),
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
