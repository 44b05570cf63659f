"""The score itself can overflow: q·k of equal components in float16."""

import numpy as np

d_k = 64
component = 40.0


def score(divisor):
    q = np.float16(component) / np.float16(divisor)
    product, total = q * np.float16(component), np.float16(0)
    for _ in range(d_k):
        total = total + product  # rounded to float16 at every step
    return float(total)


root = np.sqrt(d_k)
limit = float(np.finfo(np.float16).max)
numbers = {
    "component limit": np.sqrt(limit / d_k),
    "component limit, q divided first": np.sqrt(limit * root / d_k),
}
with np.errstate(over="ignore"):
    numbers |= {"score": score(1), "score, q divided first": score(root)}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
