"""An offset on both scores changes no weight; their gap does."""

import numpy as np

offset = 0
gap = 4.0


def softmax(s):
    exponentials = np.exp(s - s.max(axis=-1, keepdims=True))  # the maximum keeps exp finite
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


numbers = {"top weight": softmax(np.array([gap + offset, offset]))[0]}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
