"""One cell of q kᵀ is a sum of products, and a random walk."""

import numpy as np

terms = 64
cell = "q1·k1"
seed = 0


def draw(stream, n):
    # A component at a time, so that a wider head goes on where a narrower one ends.
    return np.random.default_rng([seed, stream]).standard_normal((64, n)).T[:, :terms]


q, k = draw(0, 3), draw(1, 4)
one, other = (int(name[1]) - 1 for name in cell.split("·"))
scores = q @ k.T
cosine = scores[one, other] / (np.linalg.norm(q[one]) * np.linalg.norm(k[other]))
numbers = {
    "sum": scores[one, other],
    "root mean square": np.sqrt((scores**2).mean()),
    "law": np.sqrt(terms),
    "angle": np.degrees(np.arccos(np.clip(cosine, -1, 1))),
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
