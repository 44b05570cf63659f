"""The Jacobian of softmax, its size, and the T at which most of it reaches the scores."""

import numpy as np

temperature = 8.0
scores = [8, 4, 0]


def softmax(s):
    exponentials = np.exp(s - s.max(axis=-1, keepdims=True))  # the maximum keeps exp finite
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def size(divisor):
    p = softmax(s / divisor)
    return np.linalg.norm(np.diag(p) - np.outer(p, p))  # the chain rule's 1/T comes on top


s = np.array(scores, dtype=float)
# The largest ‖J‖/T: in units of the lead of the top score, so that one range fits every row.
lead = np.ptp(np.sort(s)[-2:])
best = 0.0  # a tie for the top, or a single key, has none
if lead > 0:
    around = lead * np.geomspace(1e-2, 1e3, 2001)
    for _ in range(4):  # look closer and closer around the best
        best = max(around, key=lambda t: size(t) / t)
        step = np.log(around[1] / around[0])
        around = best * np.exp(np.linspace(-2 * step, 2 * step, 401))
numbers = {
    "size": size(temperature),
    "size with chain factor": size(temperature) / temperature,
    "best temperature": best,
    "size not divided": size(1),
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
