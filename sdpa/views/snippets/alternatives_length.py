"""Random rows and a leading key under another rule, beside √d_k, for a number of keys.

Runs in the lesson's folder; `compare_rules` draws the rows and applies every rule.
"""

from sdpa.alternatives import compare_rules, leading_weight

rule = "QK-norm"
n = 64

found = compare_rules(64, n, n_rows=max(128, 2**14 // n), seed=0)
numbers = {
    f"{name}{by}": getattr(found[which], field)
    for which, by in ((rule, ""), ("divide by √dₖ", " by √d_k"))
    for name, field in (("std", "std"), ("entropy share", "entropy"), ("largest weight", "largest"))
}
numbers["leading weight"] = leading_weight(rule, 64, n, lead=3)
numbers["leading weight by √d_k"] = leading_weight("divide by √dₖ", 64, n, lead=3)

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
