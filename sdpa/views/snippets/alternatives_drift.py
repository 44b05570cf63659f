"""Random rows whose scores have grown in training, under another rule beside √d_k.

Runs in the lesson's folder; `compare_rules` draws the rows and applies every rule.
"""

from sdpa.alternatives import compare_rules

rule = "QK-norm"
growth = 1

found = compare_rules(64, 16, n_rows=1024, seed=0, growth=growth)
numbers = {
    f"{name}{by}": getattr(found[which], field)
    for which, by in ((rule, ""), ("divide by √dₖ", " by √d_k"))
    for name, field in (("std", "std"), ("entropy share", "entropy"), ("largest weight", "largest"))
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
