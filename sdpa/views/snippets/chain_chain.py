"""A typical row of 8 keys: spread of scores, weights, and the median row's gradient."""

from statistics import NormalDist

import numpy as np

d_k = 64
n_keys = 8


def typical_scores(d_k, n_keys):
    ranks = (n_keys - np.arange(n_keys) - 0.375) / (n_keys + 0.25)  # of a normal row, on average
    return np.sqrt(d_k) * np.array([NormalDist().inv_cdf(rank) for rank in ranks])


def softmax(s):
    exponentials = np.exp(s - s.max(axis=-1, keepdims=True))  # the maximum keeps exp finite
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def keys_in_play(p):
    return np.exp(-(p * np.log(np.where(p > 0, p, 1))).sum(axis=-1))  # e to the entropy


def median_gradient(divisor):
    rng = np.random.default_rng(0)
    z = rng.standard_normal((4000, n_keys))
    rows = np.sqrt(rng.chisquare(d_k, (4000, 1))) * z  # q·k for keys that share a query: ‖q‖ z
    p = softmax(rows / divisor)
    return np.median((p * (1 - p)).sum(axis=-1) / divisor)


root = np.sqrt(d_k)
raw = typical_scores(d_k, n_keys)
sharp, soft = softmax(raw), softmax(raw / root)
numbers = {
    "standard deviation": root,
    "top weight not divided": sharp.max(),
    "top weight divided": soft.max(),
    "keys in play not divided": keys_in_play(sharp),
    "keys in play divided": keys_in_play(soft),
    "median gradient not divided": median_gradient(1),
    "median gradient divided": median_gradient(root),
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
