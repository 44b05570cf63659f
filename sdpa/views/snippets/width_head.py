"""The loss of an untrained classifier of 10 classes."""

import numpy as np

fan_in = 16

rng = np.random.default_rng(0)
z = rng.standard_normal((5000, 10))
sums = np.sqrt(rng.chisquare(fan_in, (5000, 1))) * z  # of fan_in products, a row an example


def loss(weight_std):
    logits = weight_std * sums
    top = logits.max(axis=1)
    log_total = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
    return (log_total - logits.mean(axis=1)).mean()  # each class is the right one equally often


numbers = {
    "loss": loss(1),
    "loss 1/n": loss(1 / np.sqrt(fan_in)),
    "loss 1/n²": loss(1 / fan_in),
    "chance": np.log(10),
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
