"""Softmax in a narrow number format, as it stands and with the maximum subtracted first.

Runs in the lesson's folder: `softmax_steps` rounds every intermediate to the format.
"""

import numpy as np

from sdpa.formats import FORMATS, exp_overflow_threshold, softmax_steps

offset = 0
format = "float16"
scores = [8, 4, 0]

s = np.array(scores, dtype=float) + offset
top = s.argmax()
naive = softmax_steps(s, format, subtract_max=False)
safe = softmax_steps(s, format, subtract_max=True)
numbers = {
    "threshold": exp_overflow_threshold(format),  # ln of the format's largest number
    "threshold of the sum": exp_overflow_threshold(format, keys=len(s)),  # if all were equal
    "largest score": s[top],
    "naive top weight": float(naive.weights[top]),
    "safe top weight": float(safe.weights[top]),
    **{f"threshold {name}": exp_overflow_threshold(name) for name in FORMATS},
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
