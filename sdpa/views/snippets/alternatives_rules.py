"""One typical row under another rule for the logits, beside √d_k.

Runs in the lesson's folder; `RULES` in `sdpa/alternatives.py` has each rule's formula.
"""

from statistics import NormalDist

import numpy as np

from sdpa.alternatives import RULES, apply_rule

rule = "QK-norm"
d_k = 64
keys = 8

ranks = (keys - np.arange(keys) - 0.375) / (keys + 0.25)
z = np.array([NormalDist().inv_cdf(rank) for rank in ranks])  # a typical row, largest first
matches = {"score": np.sqrt(d_k) * z, "cosine": z / np.sqrt(z**2 + d_k - 1)}


def logits(name):
    return apply_rule(name, matches[RULES[name].of], d_k)


def softmax(s):
    exponentials = np.exp(s - s.max())
    return exponentials / exponentials.sum()


def keys_in_play(p):
    return np.exp(-(p * np.log(np.where(p > 0, p, 1))).sum())  # e to the entropy


other, usual = softmax(logits(rule)), softmax(logits("divide by √dₖ"))
numbers = {
    "top weight": other[0],
    "top weight by √d_k": usual[0],
    "keys in play": keys_in_play(other),
    "keys in play by √d_k": keys_in_play(usual),
    "largest logit": logits(rule)[0],
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
