"""Learn a lookup table with the divisors 1, √d_k and d_k: loss and accuracy after 200 steps.

Runs in the lesson's folder; `sdpa/training.py` has the training itself, in NumPy.
"""

import numpy as np

from sdpa.training import RATES, train_lookup

d_k = 64
optimiser = "SGD"
loss = "values"
pairs = 16
lr = "auto"
seed = 0

rate = RATES[optimiser.lower(), loss] if lr == "auto" else lr
history = train_lookup(
    d_k,
    [1, np.sqrt(d_k), d_k],
    n=pairs,
    steps=200,
    lr=rate,
    loss=loss,
    optimiser=optimiser.lower(),
    seed=seed,
)
numbers = {}
for i, name in enumerate(("1", "√d_k", "d_k")):
    numbers |= {
        f"accuracy by {name}": history.accuracy[i, -1],
        f"loss by {name}": history.loss[i, -1],
        f"steps by {name}": history.steps_to(0.95)[i],  # nan: never
    }
numbers["learning rate"] = rate

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
