"""Which d? The width of a head, not of the model."""

from statistics import NormalDist

import numpy as np

heads = 8
d_model = 512


def typical_scores(d_k, n_keys):
    ranks = (n_keys - np.arange(n_keys) - 0.375) / (n_keys + 0.25)  # of a normal row, on average
    return np.sqrt(d_k) * np.array([NormalDist().inv_cdf(rank) for rank in ranks])


def softmax(s):
    exponentials = np.exp(s - s.max(axis=-1, keepdims=True))  # the maximum keeps exp finite
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


d_k = d_model // heads
root, wrong = np.sqrt(d_k), np.sqrt(d_model)
s = typical_scores(d_k, 8)
numbers = {
    "d_k": d_k,
    "root": root,
    "wrong root": wrong,
    "times too flat": wrong / root,
    "top weight by 1": softmax(s)[0],
    "top weight by √d_k": softmax(s / root)[0],
    "top weight by √d_model": softmax(s / wrong)[0],
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
