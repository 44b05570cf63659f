"""Four times the width, twice the spread."""

import numpy as np

d_k = 64
samples = 20000
seed = 0


def sampled_scores(width):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(samples)
    return np.sqrt(rng.chisquare(width, samples)) * z  # the law of a sum of width products


numbers = {
    "standard deviation": sampled_scores(d_k).std(),
    "standard deviation at 16": sampled_scores(16).std(),
    "standard deviation at 256": sampled_scores(256).std(),
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
