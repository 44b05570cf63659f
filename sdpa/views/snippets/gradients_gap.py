"""Two keys: the slope p(1 − p) falls like e to the minus gap."""

import numpy as np

gap = 4.0

p = 1 / (1 + np.exp(-gap))  # softmax of two scores
slope = np.exp(-gap) * p**2  # p(1 − p) without the difference 1 − p, which would round to 0
numbers = {"slope": slope, "top weight": p}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
