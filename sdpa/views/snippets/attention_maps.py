"""Attention of six tokens, divided by √d_k and not: the weights."""

import numpy as np

row = 2
d_k = 64
mask = "none"
softcap = "none"
seed = 0

tokens = ["the", "cat", "sat", "on", "the", "mat"]
words = list(dict.fromkeys(tokens))  # equal words get equal vectors


def draw(stream, width):
    rng = np.random.default_rng([seed, stream])
    return rng.standard_normal((width, len(words))).T[[words.index(t) for t in tokens]]


def attend(scale):
    logits = scale * (q @ k.T)
    if softcap != "none":
        logits = float(softcap) * np.tanh(logits / float(softcap))
    logits = np.where(allowed, logits, -np.inf)
    top = logits.max(axis=-1, keepdims=True)
    exponentials = np.exp(logits - np.where(np.isfinite(top), top, 0))
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total > 0, total, 1)  # a row that sees nothing gets zeros


q, k, v = draw(0, d_k), draw(1, d_k), draw(2, 2)
allowed = np.tri(6, dtype=bool) if mask == "causal" else np.ones((6, 6), dtype=bool)
if mask == "hide last key":
    allowed[:, -1] = False
if mask == "hide all from query 3":
    allowed[2] = False
root = np.sqrt(d_k)
soft, sharp = attend(1 / root), attend(1)
numbers = {
    "top weight divided": soft[row - 1].max(),
    "top weight not divided": sharp[row - 1].max(),
    "mean top weight divided": soft.max(axis=1).mean(),
    "mean top weight not divided": sharp.max(axis=1).mean(),
    "root": root,
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
