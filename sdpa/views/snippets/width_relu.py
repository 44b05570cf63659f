"""The size of a signal along ReLU layers of 256 units, in 100 networks."""

import numpy as np

layers = 20


def mean_squares(numerator):
    rng = np.random.default_rng(0)
    square = np.ones(100)  # of the input, network by network
    for _ in range(layers):
        # Given the input, the sums of a layer are normal: no weight needs drawing.
        kept = np.maximum(rng.standard_normal((100, 256)), 0)
        square = square * numerator * (kept**2).mean(axis=1)
    return square


one, two = mean_squares(1), mean_squares(2)
low, high = np.sqrt(np.quantile(two, [0.1, 0.9]))
numbers = {
    "rms 1/n": np.sqrt(one.mean()),
    "rms 2/n": np.sqrt(two.mean()),
    "law 1/n": 2 ** (-layers / 2),
    "low 2/n": low,
    "high 2/n": high,
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
