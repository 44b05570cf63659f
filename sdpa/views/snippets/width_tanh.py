"""A tanh unit that adds up many inputs: saturated with weights of variance 1, not with 1/n."""

import numpy as np

fan_in = 16

rng = np.random.default_rng(0)
z = rng.standard_normal(20000)
sums = np.sqrt(rng.chisquare(fan_in, 20000)) * z  # each the law of a sum of fan_in products
numbers = {}
for how, a in (("", sums), (" divided", sums / np.sqrt(fan_in))):
    numbers |= {
        f"std{how}": a.std(),
        f"saturated{how}": (np.abs(np.tanh(a)) > 0.99).mean(),
        f"slope{how}": (1 - np.tanh(a) ** 2).mean(),
    }

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
