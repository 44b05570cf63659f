"""Sums of products that are independent, and of products that agree."""

import numpy as np

d_k = 64


def sums(alignment):
    rng = np.random.default_rng(0)
    z = rng.standard_normal(10000)
    squared = rng.chisquare(d_k, 10000)  # ‖q‖²; k = alignment·q and the rest at random
    return alignment * squared + np.sqrt((1 - alignment**2) * squared) * z


rms, mean = np.sqrt((sums(0) ** 2).mean()), sums(0.2).mean()
numbers = {
    "independent by √d_k": rms / np.sqrt(d_k),
    "independent by d_k": rms / d_k,
    "aligned by √d_k": mean / np.sqrt(d_k),
    "aligned by d_k": mean / d_k,
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
