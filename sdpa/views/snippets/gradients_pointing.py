"""Which way descent moves each score when the key with the lowest score is the right one."""

import numpy as np

temperature = 8.0
scores = [8, 4, 0]


def softmax(s):
    exponentials = np.exp(s - s.max(axis=-1, keepdims=True))  # the maximum keeps exp finite
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def step(divisor):
    p = softmax(s / divisor)
    jacobian = (np.diag(p) - np.outer(p, p)) / divisor
    return -jacobian @ (p - np.eye(len(s))[right])  # descent on ‖p − e‖²/2


def share(step):
    total = np.abs(step).sum()
    return np.abs(step[right]) / total if total else 0.0


s = np.array(scores, dtype=float)
right = s.argmin()
alone, divided = step(1), step(temperature)
numbers = {
    **{f"step of k{i}, not divided": x for i, x in enumerate(alone, 1)},
    **{f"step of k{i}, divided": x for i, x in enumerate(divided, 1)},
    "share on the right key, not divided": share(alone),
    "share on the right key, divided": share(divided),
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
