"""Train a lookup through shared projections with the divisors 1, √d_k and d_k.

Runs in the lesson's folder; `sdpa/projections.py` has the training itself, in NumPy.
"""

import numpy as np

from sdpa.projections import SHARED_RATES, train_projections

shared_d_k = 256
shared_optimiser = "Adam"
shared_lr = "auto"

optimiser = shared_optimiser.lower()
rate = SHARED_RATES[optimiser] if shared_lr == "auto" else shared_lr
divisors = [1, np.sqrt(shared_d_k), shared_d_k]
history = train_projections(shared_d_k, divisors, steps=300, lr=rate, optimiser=optimiser)
numbers = {}
for i, name in enumerate(("1", "√d_k", "d_k")):
    numbers[f"steps by {name}"] = history.steps_to(0.9)[i]  # nan: never
for i, name in enumerate(("1", "√d_k", "d_k")):
    numbers[f"accuracy by {name}"] = history.accuracy[i, -20:].mean()
numbers["learning rate"] = rate

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
