"""The weights of given scores, divided by √d_k, line by line."""

import numpy as np

d_k = 64
scores = [8, 4, 0]

s = np.array(scores, dtype=float)
alone = np.exp(s - s.max())
root = np.sqrt(d_k)
scaled = s / root
exponentials = np.exp(scaled - scaled.max())  # the maximum only keeps exp finite
weights = exponentials / exponentials.sum()
numbers = {
    "root": root,
    "top weight not divided": alone.max() / alone.sum(),
    "top weight divided": weights.max(),
    "last weight divided": weights[-1],
    "sum of exponentials": exponentials.sum(),
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
