from functools import lru_cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sdpa.attention import attention
from sdpa.jacobian import softmax_jvp
from sdpa.projections import (
    ProjectionTraining,
    projection_gradients,
    train_projections,
)

SEEDS = range(3)


@lru_cache
def cell(d_k, optimiser, lr):
    """Last-20 accuracy and median steps to 90 %, divided by 1, √d_k and d_k: three seeds."""
    runs = [
        train_projections(d_k, [1.0, d_k**0.5, d_k], lr=lr, optimiser=optimiser, seed=seed)
        for seed in SEEDS
    ]
    ends = np.mean([run.accuracy[:, -20:].mean(axis=-1) for run in runs], axis=0)
    # A run that never gets there counts as later than any other.
    steps = np.median([np.nan_to_num(run.steps_to(0.9), nan=np.inf) for run in runs], axis=0)
    return ends, steps


def drawn(seed=0, d_k=6, size=5, batch=2, n=4):
    rng = np.random.default_rng(seed)
    projections = rng.standard_normal((2, size, d_k)) / np.sqrt(size)
    return projections, rng.standard_normal((batch, n, size))


def literal_loss(projections, items, divisor):
    wanted = np.eye(items.shape[1])
    losses = []
    for x in items:
        output = attention(x @ projections[0], x @ projections[1], wanted, scale=1 / divisor).output
        losses.append(((output - wanted) ** 2).sum(axis=1).mean() / 2)
    return np.mean(losses)


# --- the gradient ---


@pytest.mark.parametrize("divisor", [0.7, 2.0, 6.0])
def test_the_gradient_is_that_of_finite_differences_to_1e_minus_8(divisor):
    projections, items = drawn(seed=3)
    got = projection_gradients(projections, items, divisor).projections
    for index in np.ndindex(projections.shape):
        here, around = projections[index], []
        for step in (-2e-4, -1e-4, 1e-4, 2e-4):
            projections[index] = here + step
            around.append(literal_loss(projections, items, divisor))
        projections[index] = here
        slope = (around[0] - 8 * around[1] + 8 * around[2] - around[3]) / (12 * 1e-4)
        assert abs(got[index] - slope) < 1e-10 + 1e-8 * abs(slope)


@pytest.mark.parametrize("divisor", [0.7, 2.0, 6.0])
def test_the_gradient_is_the_softmax_jacobian_s_product_row_by_row(divisor):
    projections, items = drawn(seed=8)
    got = projection_gradients(projections, items, divisor)
    expected = np.zeros_like(projections)
    for which, x in enumerate(items):
        queries, keys = x @ projections[0], x @ projections[1]
        weights = attention(queries, keys, np.eye(4), scale=1 / divisor).weights
        assert_allclose(got.weights[which], weights, rtol=1e-12)
        by_scores = softmax_jvp(weights, weights - np.eye(4), temperature=divisor) / 8
        assert_allclose(got.scores[which], by_scores, rtol=1e-10, atol=1e-15)
        expected += np.stack([x.T @ (by_scores @ keys), x.T @ (by_scores.T @ queries)])
    assert_allclose(got.projections, expected, rtol=1e-10, atol=1e-14)


# --- the training ---


@pytest.mark.parametrize("d_k", [3, 8, 50])  # below, at and above 2·size
def test_descent_in_few_coordinates_is_descent_in_all(d_k):
    got = train_projections(d_k, 2.0, n=3, size=4, batch=2, steps=30, lr=0.5, seed=5)
    rng = np.random.default_rng(5)
    projections = rng.standard_normal((8, d_k)).reshape(2, 4, d_k) / 2
    for step in range(30):
        items = rng.standard_normal((2, 3, 4))
        assert_allclose(got.loss[step], literal_loss(projections, items, 2.0), rtol=1e-8)
        weights = projection_gradients(projections, items, 2.0).weights
        assert got.accuracy[step] == (weights.argmax(axis=-1) == np.arange(3)).mean()
        projections = projections - 0.5 * projection_gradients(projections, items, 2.0).projections


def test_adam_is_algorithm_1_of_its_paper():
    got = train_projections(9, 3.0, n=3, size=4, batch=2, steps=30, lr=0.02, optimiser="adam")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((8, 9)).reshape(2, 4, 9) / 2
    m, v = np.zeros_like(x), np.zeros_like(x)
    for t in range(1, 31):
        items = rng.standard_normal((2, 3, 4))
        assert_allclose(got.loss[t - 1], literal_loss(x, items, 3.0), rtol=1e-4)
        g = projection_gradients(x, items, 3.0).projections
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        x = x - 0.02 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


def test_divisors_side_by_side_are_each_alone():
    together = train_projections(8, [[1.0, 3.0], [8.0, 2.0]], steps=25)
    assert together.loss.shape == together.accuracy.shape == (2, 2, 25)
    for index, divisor in np.ndenumerate([[1.0, 3.0], [8.0, 2.0]]):
        alone = train_projections(8, divisor, steps=25)
        assert alone.loss.shape == (25,)
        assert_allclose(together.loss[index], alone.loss, rtol=1e-8)
        assert_allclose(together.accuracy[index], alone.accuracy)


def test_queries_and_keys_start_with_variance_1():
    # The premise: at T = √d the first scores have variance near 1, so the loss is that of it.
    rng = np.random.default_rng(0)
    w = rng.standard_normal((32, 256)).reshape(2, 16, 256) / 4
    queries = rng.standard_normal((4000, 16)) @ w[0]
    assert queries.var() == pytest.approx(1, abs=0.1)
    first = train_projections(256, 16.0, steps=1, batch=500).loss[0]
    rows = np.random.default_rng(1).standard_normal((20_000, 8))
    weights = attention(rows, np.eye(8), np.eye(8), scale=1.0).weights
    flat = ((weights - np.eye(8)[0]) ** 2).sum(axis=1).mean() / 2
    assert first == pytest.approx(flat, abs=0.03)


def test_same_seed_same_history():
    one, two, other = (train_projections(8, 1.0, steps=5, seed=seed) for seed in (4, 4, 5))
    assert_array_equal(one.loss, two.loss)
    assert (one.loss != other.loss).any()


def test_steps_are_counted_from_a_full_window_alone():
    accuracy = np.array([[1.0, 0.8, 0.9, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0, 0.5]])
    got = ProjectionTraining(np.zeros_like(accuracy), accuracy)
    assert_allclose(got.recent(3)[0], [1, 0.9, 0.9, 0.9, 2.9 / 3])
    assert_array_equal(got.steps_to(0.9, 3), [3, np.nan])
    assert_array_equal(got.steps_to(0.5, 3), [3, 5])
    assert_allclose(got.recent(99)[1, -1], 0.3)


# --- what it shows: means and medians of three seeds, after 300 steps ---
# The reference's seeds are others, and where rates are large training is chaotic: two machines
# whose BLAS adds in another order draw apart. So the tolerances are those of other seeds.


@pytest.mark.parametrize(
    ("d_k", "optimiser", "lr", "ends", "steps"),
    [
        (256, "adam", 0.001, [0.98, 0.99], [119, 49]),
        (256, "adam", 0.003, [0.99, 1.00], [47, 21]),
        (256, "adam", 0.01, [0.99, 0.99], [29, 13]),
        (256, "adam", 0.03, [0.91, 0.97], [32, 11]),
        (256, "adam", 0.1, [0.53, 0.93], [np.inf, 11]),
        (256, "adam", 0.3, [0.21, 0.66], [np.inf, np.inf]),
        (1024, "adam", 0.003, [0.98, 0.99], [60, 15]),
        (1024, "adam", 0.1, [0.20, 0.86], [np.inf, 11]),
    ],
)
def test_with_adam_the_undivided_training_is_slower_and_takes_fewer_rates(
    d_k, optimiser, lr, ends, steps
):
    got_ends, got_steps = cell(d_k, optimiser, lr)
    assert_allclose(got_ends[:2], ends, atol=0.05 if lr < 0.1 else 0.15)
    assert_allclose(got_steps[:2], steps, rtol=0.35)
    assert got_steps[0] > 1.5 * got_steps[1] or got_ends[0] < got_ends[1] - 0.2


def test_sgd_with_a_small_rate_is_faster_without_a_divisor_and_breaks_at_a_large_one():
    ends, steps = cell(256, "sgd", 0.1)
    assert_allclose(steps[:2], [73, 149], rtol=0.25)
    assert (ends[:2] > 0.95).all()
    for lr in (10.0, 30.0):
        ends, steps = cell(256, "sgd", lr)
        assert steps[0] == np.inf
        assert ends[0] < 0.7
        assert ends[1] == pytest.approx(0.99, abs=0.02)


def test_with_adam_d_k_is_as_good_a_divisor_as_its_root():
    for d_k in (64, 256):
        ends, steps = cell(d_k, "adam", 0.01)
        assert_allclose(steps[2], steps[1], rtol=0.25)
        assert ends[2] > 0.95


# --- limits and errors ---


def test_a_training_that_leaves_its_floats_is_nan_and_leaves_the_others_alone():
    got = train_projections(4, [1.0, 1e9], steps=20, lr=1e300)
    assert np.isnan(got.loss[0, -1])
    assert_array_equal(np.isnan(got.accuracy), np.isnan(got.loss))
    assert not np.isnan(got.loss[0, 0])
    assert np.isnan(got.steps_to(0.9)[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_k": 0}, "d_k must be an integer ≥ 1, got 0"),
        ({"n": 1}, "n must be an integer ≥ 2, got 1"),
        ({"size": 0}, "size must be an integer ≥ 1, got 0"),
        ({"batch": 0.5}, r"batch must be an integer ≥ 1, got 0\.5"),
        ({"steps": 0}, "steps must be an integer ≥ 1, got 0"),
        ({"seed": -1}, "seed must be an integer ≥ 0, got -1"),
        ({"lr": 0}, "lr must be above 0, got 0"),
        ({"optimiser": "SGD"}, "optimiser must be one of 'sgd', 'adam', got 'SGD'"),
        ({"divisor": 0}, "divisor must be positive and finite, got 0"),
    ],
)
def test_errors_say_what_was_required_and_what_came(options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        train_projections(**{"d_k": 4, "divisor": 1.0, "steps": 1, **options})
