"""How far the raw scores of a trained encoder's 72 heads spread within a row, against √32.

Runs in the lesson's folder, which has the measured q and k in `assets/heads.npz`.
"""

import numpy as np

from sdpa import heads

head = 1
layer = 3

spreads = np.sqrt(heads.measured_everywhere().row_variance)
ratio = spreads / np.sqrt(32)
numbers = {
    "spread": spreads[layer, head],
    "median": np.median(spreads),
    "median divided": np.median(ratio),
    "share within a factor of two": ((ratio > 0.5) & (ratio < 2)).mean(),
    "√32": np.sqrt(32),
    "widest": spreads.max(),
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
