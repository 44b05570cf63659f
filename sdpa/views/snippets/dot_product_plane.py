"""A score in the plane: two lengths and the cosine of the angle between them."""

import numpy as np

angle = 60
length_q = 2.0
length_k = 3.0


def arrow(length, degrees):
    return length * np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


q = arrow(length_q, 30)  # any direction does: only the angle between the two counts
k = arrow(length_k, 30 + angle)
numbers = {
    "score": q @ k,
    "part of k along q": q @ k / length_q,
    "largest": length_q * length_k,
}

for name, value in numbers.items():
    print(f"{name}: {value:.6g}")
