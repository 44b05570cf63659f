"""A typical row of three keys, divided by 1, by √d_k and by d_k."""

import numpy as np

d_k = 64


def softmax(s):
    exponentials = np.exp(s - s.max(axis=-1, keepdims=True))  # the maximum keeps exp finite
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


s = np.array([1, 0.5, 0]) * np.sqrt(d_k)  # [8, 4, 0] at d_k = 64
numbers = {
    "top weight by 1": softmax(s)[0],
    "top weight by √d_k": softmax(s / np.sqrt(d_k))[0],
    "top weight by d_k": softmax(s / d_k)[0],
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
