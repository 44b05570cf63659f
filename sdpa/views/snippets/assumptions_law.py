"""One premise of √d_k is left: the law of a score's spread, and sampled scores.

Runs in the lesson's folder; `Premises` in `sdpa/statistics.py` says what each name means.
"""

from math import sqrt

from sdpa.statistics import sample_scores, score_mean, score_variance

premise = "correlation in both"
amount = 3
d_k = 64

SHAPES = ["gaussian", "uniform", "rademacher", "laplace", "student_t5", "cauchy"]
CORRELATIONS = [0, 0.05, 0.1, 0.15, 0.2, 0.3]
STDS = [1, 1.5, 2, 3, 4, 5]
values, names = {
    "mean": ([0, 0.1, 0.2, 0.3, 0.4, 0.5], ["mean_q", "mean_k"]),
    "spread": ([1, 1.2, 1.4, 1.6, 1.8, 2], ["std_q", "std_k"]),
    "correlation in both": (CORRELATIONS, ["correlation_q", "correlation_k"]),
    "correlation in one": (CORRELATIONS, ["correlation_q"]),
    "alignment": (CORRELATIONS, ["alignment"]),
    "shape and tails": (SHAPES, ["distribution"]),
    "unit norm": (STDS, ["std_q", "std_k"]),
    "layer norm": (STDS, ["std_q", "std_k"]),
    "rms norm": (STDS, ["std_q", "std_k"]),
}[premise]
premises = dict.fromkeys(names, values[amount])
if premise.endswith(" norm"):
    premises["normalise"] = premise.removesuffix(" norm")

n = min(2000, 2**19 // d_k)
sampled = sample_scores(d_k, n, seed=0, method="product", **premises)
numbers = {
    "value": amount if premise == "shape and tails" else values[amount],
    "law": sqrt(score_variance(d_k, **premises)),
    "law's mean": score_mean(d_k, **premises),
    "sampled": sampled.std(),
    "sampled mean": sampled.mean(),
    "premises kept": sqrt(d_k),
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
