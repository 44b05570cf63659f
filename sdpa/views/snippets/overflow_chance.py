"""How likely a random row of raw scores is to overflow exp.

Runs in the lesson's folder: `overflow_probability` averages over the query's length.
"""

import numpy as np

from sdpa.statistics import overflow_probability

d_k = 64
keys = 8

# exp overflows above ln of the format's largest number
half, single = (np.log(float(np.finfo(t).max)) for t in (np.float16, np.float32))
numbers = {
    "float16": overflow_probability(d_k, keys, half),
    "float32": overflow_probability(d_k, keys, single),
    "float16 divided": overflow_probability(d_k, keys, half, divisor=np.sqrt(d_k)),
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
