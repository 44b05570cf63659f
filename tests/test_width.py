import math

import numpy as np
import pytest
from scipy import integrate, special

from sdpa.statistics import score_tail
from sdpa.width import (
    aligned_sums,
    classifier_head,
    relu_stack,
    residual_stream,
    tanh_layer,
)

SIZES = (16, 64, 256, 1024)
N = 20_000


# --- tanh layer ---


def variance_gamma(s, d):
    nu = (d - 1) / 2
    log = nu * np.log(s / 2) + np.log(special.kve(nu, s)) - s
    return np.exp(log - special.gammaln(d / 2)) / math.sqrt(math.pi)


# The lesson's plan: share of saturated units and mean slope, one draw each
@pytest.mark.parametrize(
    ("n", "saturated", "slope"),
    [(16, 0.47, 0.21), (64, 0.74, 0.10), (256, 0.87, 0.05), (1024, 0.93, 0.025)],
)
def test_a_tanh_layer_with_unit_weights_saturates_and_one_with_1_over_n_does_not(
    n, saturated, slope
):
    raw, divided = tanh_layer(n), tanh_layer(n, weight_std=n**-0.5)
    # Standard error of a standard deviation, excess kurtosis 6/n
    error = 5 * math.sqrt((2 + 6 / n) / N) / 2
    assert raw.std / math.sqrt(n) == pytest.approx(1, abs=error)
    assert divided.std == pytest.approx(1, abs=error)
    # The plan's numbers come from one layer and one input each: 3 % of sampling error there.
    assert raw.saturated_share == pytest.approx(saturated, abs=0.03)
    assert raw.mean_slope == pytest.approx(slope, abs=0.011)
    assert divided.saturated_share == pytest.approx(0.01, abs=0.005)
    assert divided.mean_slope == pytest.approx(0.61, abs=0.01)


@pytest.mark.parametrize("n", [4, 16, 64])  # scipy's Bessel function overflows beyond
def test_saturated_share_and_slope_are_integrals_over_the_law_of_a_score(n):
    for scale in (1.0, n**-0.5):
        found = tanh_layer(n, weight_std=scale, seed=3)
        tail = float(score_tail(math.atanh(0.99) / scale, n))
        assert abs(found.saturated_share - tail) < 5 * math.sqrt(tail * (1 - tail) / N)
        moments = [
            2
            * integrate.quad(
                lambda s, p=power, c=scale: math.cosh(c * s) ** (-2 * p) * variance_gamma(s, n),
                1e-9,
                min(300 / scale, 40 * math.sqrt(n)),
                limit=400,
                points=[1e-3, 1.0, 3.0],
            )[0]
            for power in (1, 2)
        ]
        error = math.sqrt((moments[1] - moments[0] ** 2) / N)
        assert abs(found.mean_slope - moments[0]) < 5 * error


def test_the_slope_of_tanh_falls_like_one_over_the_root_of_n():
    # E[sech² σz] → 2/(√(2π) σ), like the mean slope of two keys
    slope = tanh_layer(1024, n_units=100_000).mean_slope
    assert slope * 32 == pytest.approx(2 / math.sqrt(2 * math.pi), rel=0.05)


def test_a_layer_of_real_weights_does_the_same():
    rng = np.random.default_rng(2)
    z = rng.standard_normal((400, 64)) @ rng.standard_normal((64, 200))
    found = tanh_layer(64)
    assert found.std == pytest.approx(z.std(), rel=0.03)
    assert found.saturated_share == pytest.approx((np.abs(np.tanh(z)) > 0.99).mean(), abs=0.02)


# --- ReLU layers ---


def test_twenty_relu_layers_keep_half_of_the_mean_square_each_unless_weights_make_up():
    one, two = (relu_stack(20, numerator=top, n_networks=1000) for top in (1.0, 2.0))
    # One network's mean square varies by √((1 + 5/256)²⁰ − 1) = 0.69 about its mean.
    error = 5 * math.sqrt((1 + 5 / 256) ** 20 - 1) / math.sqrt(1000) / 2
    assert two.rms[-1] == pytest.approx(1, abs=error)
    assert one.rms[-1] / 2**-10 == pytest.approx(1, abs=error)
    np.testing.assert_allclose(one.rms, two.rms * 2.0 ** (-np.arange(21) / 2), rtol=1e-12)
    # The plan's single draws: 9.0e-4 and 1.26
    assert one.low[-1] < 9.0e-4 < one.high[-1]
    assert two.low[-1] < 1.26 < two.high[-1]
    assert (one.rms[0], two.rms[0]) == (1, 1)


@pytest.mark.parametrize("numerator", [1.0, 2.0])
def test_relu_layers_of_real_weights_follow_the_same_law(numerator):
    width, depth, networks = 32, 4, 1500
    rng = np.random.default_rng(5)
    x = rng.standard_normal((networks, 1, width))
    x *= math.sqrt(width) / np.linalg.norm(x, axis=-1, keepdims=True)
    for _ in range(depth):
        w = rng.standard_normal((networks, width, width)) * math.sqrt(numerator / width)
        x = np.maximum(x @ w, 0)
    real = np.sqrt((x[:, 0] ** 2).mean(axis=1))
    found = relu_stack(depth, width=width, numerator=numerator, n_networks=networks)
    square = real**2
    error = 5 * square.std() * math.sqrt(2 / networks)
    assert found.rms[-1] ** 2 == pytest.approx(square.mean(), abs=error)
    for quantile, share in ((found.low[-1], 0.1), (found.high[-1], 0.9)):
        below = (real < quantile).mean()
        assert abs(below - share) < 5 * math.sqrt(0.09 * 2 / networks)


# --- residual stream ---


@pytest.mark.parametrize(("branches", "quoted"), [(12, 3.60), (48, 7.02), (96, 9.88)])
def test_a_stream_of_unit_branches_spreads_like_the_root_of_their_number(branches, quoted):
    stds = residual_stream(branches)
    error = 5 / math.sqrt(2 * 4096)
    np.testing.assert_allclose(stds / np.sqrt(1 + np.arange(branches + 1)), 1, atol=error)
    assert stds[-1] == pytest.approx(quoted, rel=error)
    divided = residual_stream(branches, branch_std=branches**-0.5)[-1]
    assert divided == pytest.approx(math.sqrt(2), rel=error)


def test_branches_with_weights_that_read_the_stream_do_the_same():
    n, branches = 256, 24
    rng = np.random.default_rng(6)
    x = rng.standard_normal(n)
    stds = []
    for _ in range(branches):
        w = rng.standard_normal((n, n)) / math.sqrt(n)
        x = x + w @ x / math.sqrt((x**2).mean())
        stds.append(math.sqrt((x**2).mean()))
    np.testing.assert_allclose(stds, residual_stream(branches)[1:], rtol=5 / math.sqrt(2 * n))


# --- classifier's head ---


@pytest.mark.parametrize(
    ("n", "quoted"), [(16, 6.2), (64, 12.5), (256, 24.4), (1024, 49.9)]
)  # the lesson's plan
def test_an_untrained_head_is_sure_and_wrong_with_unit_weights(n, quoted):
    raw, divided, output = (classifier_head(n, weight_std=n**power) for power in (0, -0.5, -1))
    # The loss of one example varies by less than √n; the plan's draws by as much again.
    assert raw.loss == pytest.approx(quoted, rel=0.06)
    assert 2.67 < divided.loss < 2.76
    # Small logits of variance v: ln C + v(1 − 1/C)/2, with v = 1/n
    assert output.loss == pytest.approx(math.log(10) + 0.45 / n, abs=2.5 / n**1.5)
    assert raw.trace < divided.trace < output.trace <= 0.9
    assert output.trace == pytest.approx(0.9, abs=0.1 / n)


def test_the_loss_of_a_head_is_the_cross_entropy_of_real_weights_and_random_labels():
    rng = np.random.default_rng(7)
    n, classes, examples = 64, 10, 4000
    h = rng.standard_normal((examples, n, 1))
    w = rng.standard_normal((examples, classes, n))
    log_p = special.log_softmax((w @ h)[..., 0], axis=1)
    labels = rng.integers(0, classes, examples)
    losses = -log_p[np.arange(examples), labels]
    error = 5 * losses.std() * math.sqrt(1 / examples + 1 / 5000)
    found = classifier_head(n)
    assert found.loss == pytest.approx(losses.mean(), abs=error)
    slopes = 1 - (np.exp(log_p) ** 2).sum(axis=1)
    assert found.trace == pytest.approx(slopes.mean(), abs=5 * slopes.std() * math.sqrt(2 / 4000))


# --- independent and aligned sums ---


@pytest.mark.parametrize("d", SIZES)
def test_independent_sums_follow_the_root_and_aligned_ones_the_number_of_terms(d):
    independent, agreeing = aligned_sums(d), aligned_sums(d, alignment=0.2)
    assert independent.rms / math.sqrt(d) == pytest.approx(
        1, abs=5 * math.sqrt((2 + 6 / d) / N) / 2
    )
    error = 5 * math.sqrt((1 + 0.04) * d / N)
    assert agreeing.mean == pytest.approx(0.2 * d, abs=error)
    assert agreeing.mean / math.sqrt(d) == pytest.approx(0.2 * math.sqrt(d), abs=0.05)
    assert abs(independent.mean) < 5 * math.sqrt(d / N)
    # Var = (1 + ρ²) d
    variance = agreeing.rms**2 - agreeing.mean**2
    assert variance / d == pytest.approx(1.04, rel=0.06 + 6 / d * 0.1)


@pytest.mark.parametrize("rho", [-1.0, -0.3, 0.0, 0.5, 1.0])
def test_aligned_sums_have_the_law_of_correlated_vectors(rho):
    rng = np.random.default_rng(3)
    q, other = rng.standard_normal((2, N, 12))
    s = np.vecdot(q, rho * q + math.sqrt(1 - rho**2) * other)
    found = aligned_sums(12, alignment=rho, seed=1)
    assert found.mean == pytest.approx(s.mean(), abs=5 * s.std() * math.sqrt(2 / N))
    squares = s**2
    error = 5 * squares.std() * math.sqrt(2 / N)
    assert found.rms**2 == pytest.approx(squares.mean(), abs=error)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tanh_layer(0), "must be an integer ≥ 1, got 0"),
        (lambda: tanh_layer(4, weight_std=0.0), "weight_std must be above 0"),
        (lambda: relu_stack(0), "depth must be an integer ≥ 1, got 0"),
        (lambda: relu_stack(2, numerator=-1.0), "numerator must be"),
        (lambda: residual_stream(0), "branches must be an integer ≥ 1, got 0"),
        (lambda: residual_stream(2, branch_std=math.nan), "branch_std must be a finite number"),
        (lambda: classifier_head(4, n_classes=1), "n_classes must be an integer ≥ 2, got 1"),
        (lambda: classifier_head(4, weight_std=-1.0), "weight_std must be"),
        (lambda: aligned_sums(4, alignment=1.5), r"alignment must be .*\[-1, 1\], got 1.5"),
        (lambda: aligned_sums(2.5), "d_k must be an integer ≥ 1, got 2.5"),
    ],
)
def test_an_error_says_what_was_required_and_what_came(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_same_seed_gives_the_same_numbers():
    assert tanh_layer(16, seed=1) == tanh_layer(16, seed=1) != tanh_layer(16, seed=2)
    assert classifier_head(16, seed=1) == classifier_head(16, seed=1) != classifier_head(16, seed=2)
    np.testing.assert_array_equal(relu_stack(3).rms, relu_stack(3).rms)
    assert (relu_stack(3).rms[1:] != relu_stack(3, seed=1).rms[1:]).all()
    np.testing.assert_array_equal(residual_stream(3), residual_stream(3))
