"""One head of a trained encoder on one sentence, divided by √32 and not.

Runs in the lesson's folder, which has the measured q and k in `assets/heads.npz`.
"""

import numpy as np

from sdpa import heads

head = 1
layer = 3
sentence = "animal"


def softmax(s):
    exponentials = np.exp(s - s.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def keys_in_play(p):
    return np.exp(-(p * np.log(np.where(p > 0, p, 1))).sum(axis=-1)).mean()


measured = heads.head(layer, head, sentence)
scores = measured.q.astype(float) @ measured.k.astype(float).T
soft, sharp = softmax(scores / np.sqrt(32)), softmax(scores)
it, noun = measured.row("it"), measured.row(sentence)
numbers = {
    "it to noun": soft[it, noun],
    "it to noun, not divided": sharp[it, noun],
    "effective keys": keys_in_play(soft),
    "effective keys, not divided": keys_in_play(sharp),
    "top weight": soft.max(axis=1).mean(),
    "top weight, not divided": sharp.max(axis=1).mean(),
    "spread": np.sqrt(scores.var(axis=1).mean()),  # of the scores within a row
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
