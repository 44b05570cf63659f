"""Random rows under another rule for the logits, beside √d_k, at one width.

Runs in the lesson's folder; `compare_rules` draws the rows and applies every rule.
"""

from sdpa.alternatives import compare_rules

rule = "QK-norm"
d_k = 64
keys = 8

found = compare_rules(d_k, keys, n_rows=max(128, 2**14 // keys), seed=0)
numbers = {
    f"{name}{by}": getattr(found[which], field)
    for which, by in ((rule, ""), ("divide by √dₖ", " by √d_k"))
    for name, field in (("std", "std"), ("entropy share", "entropy"), ("largest weight", "largest"))
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
