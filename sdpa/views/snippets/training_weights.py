"""Learn a lookup table: the weights after some steps, for the divisors 1, √d_k and d_k.

Runs in the lesson's folder; `sdpa/training.py` has the training itself, in NumPy.
"""

import numpy as np

from sdpa.training import RATES, train_lookup

step = 50
d_k = 64
optimiser = "SGD"
loss = "values"
pairs = 16
lr = "auto"
seed = 0

history = train_lookup(
    d_k,
    [1, np.sqrt(d_k), d_k],
    n=pairs,
    steps=200,
    lr=RATES[optimiser.lower(), loss] if lr == "auto" else lr,
    loss=loss,
    optimiser=optimiser.lower(),
    seed=seed,
)
numbers = {}
for i, name in enumerate(("1", "√d_k", "d_k")):
    weights = history.weights[i, history.kept.index(step)]
    numbers |= {
        f"weight on the right key by {name}": weights[np.arange(pairs), history.target].mean(),
        f"largest weight by {name}": weights.max(axis=1).mean(),
    }

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
