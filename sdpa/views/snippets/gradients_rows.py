"""Gradients of 4000 random rows: the mean, the typical row, and the dead ones."""

import numpy as np

d_k = 64
keys = 8
n_rows = 4000

rng = np.random.default_rng(0)
z = rng.standard_normal((n_rows, keys))
scores = np.sqrt(rng.chisquare(d_k, (n_rows, 1))) * z  # keys of a row share its query: ‖q‖ z


def gradients(divisor):
    """Compute the sum of p(1 − p) over the keys of each row, divided by the divisor."""
    s = np.sort(scores / divisor)
    others = np.exp(s[:, :-1] - s[:, -1:])  # the largest would be 1; without it nothing cancels
    total = others.sum(axis=1)
    slopes = (total * (2 + total) - (others**2).sum(axis=1)) / (1 + total) ** 2
    return slopes / divisor


numbers = {}
for how, divisor in (("not divided", 1), ("divided", np.sqrt(d_k))):
    g = gradients(divisor)
    numbers |= {
        f"mean, {how}": g.mean(),
        f"median, {how}": np.median(g),
        f"lower_decile, {how}": np.quantile(g, 0.1),
        f"dead_share, {how}": (g < 1e-3).mean(),
        f"top_tenth_share, {how}": np.sort(g)[-n_rows // 10 :].sum() / g.sum(),
    }

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
