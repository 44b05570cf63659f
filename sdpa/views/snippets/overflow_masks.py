"""What softmax makes of masked rows."""

import numpy as np


def softmax(s):
    top = s.max()
    exponentials = np.exp(s - (top if np.isfinite(top) else 0))
    total = exponentials.sum()
    return exponentials / (total if total > 0 else 1)  # a row that sees nothing gets zeros


hidden = -np.inf
numbers = {
    "masked key": softmax(np.array([1, hidden, 0]))[1],
    "fully masked": softmax(np.array([hidden, hidden, hidden])).sum(),
    "finite mask": softmax(np.array([-1e9, -1e9, -1e9]))[0],
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
