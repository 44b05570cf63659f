"""A residual stream to which branches of variance 1 are added, or branches divided by √L."""

import numpy as np

branches = 48


def stream(drawn, branch_std):
    normal = np.random.default_rng(0).standard_normal((drawn + 1, 4096))
    added = normal[0] + branch_std * normal[1 : branches + 1].sum(axis=0)
    return np.sqrt((added**2).mean())


numbers = {
    "std": stream(branches, 1),
    "std divided": stream(branches, 1 / np.sqrt(branches)),
    "law": np.sqrt(branches + 1),
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
