"""Sampled scores q·k against the law: their standard deviation is √d_k."""

from math import erfc

import numpy as np

d_k = 64
samples = 20000
seed = 0

# q·k is ‖q‖ z with z normal and ‖q‖² chi-squared: the same law as summing d_k products, but quick.
rng = np.random.default_rng(seed)
z = rng.standard_normal(samples)
scores = np.sqrt(rng.chisquare(d_k, samples)) * z
root = np.sqrt(d_k)

# The exact chance of a score beyond three √d_k: the normal one, averaged over ‖q‖² = r.
v = np.linspace(-30, 5, 20001)  # ln(r/d_k)
density = np.exp(d_k / 2 * (v - np.expm1(v)))
beyond = np.array([erfc(3 * root / np.sqrt(2 * d_k * np.exp(x))) for x in v])

numbers = {
    "mean": scores.mean(),
    "standard deviation": scores.std(),
    "law": root,
    "standard deviation divided": (scores / root).std(),
    "share beyond three": np.mean(np.abs(scores) > 3 * root),
    "law beyond three": beyond @ density / density.sum(),
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
