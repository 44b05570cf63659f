"""Softmax of scores divided by T: the same ranking, a different certainty."""

import numpy as np

temperature = 8.0
scores = [8, 4, 0]


def softmax(s):
    exponentials = np.exp(s - s.max(axis=-1, keepdims=True))  # the maximum keeps exp finite
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def entropy(p):
    return -(p * np.log(np.where(p > 0, p, 1))).sum()  # 0 ln 0 is 0


s = np.array(scores, dtype=float)
sharp, soft = softmax(s), softmax(s / temperature)
numbers = {
    "top weight": soft.max(),
    "top weight not divided": sharp.max(),
    "entropy": entropy(soft),
    "entropy not divided": entropy(sharp),
    "keys in play": np.exp(entropy(soft)),
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
