import itertools
import math
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special

from sdpa.parameters import ANGLE, CELL, LENGTH_K, LENGTH_Q, SEED, TERMS
from sdpa.vectors import sample_vectors
from sdpa.views import VIEWS
from sdpa.views.message import message

PLANE, SUM = VIEWS["dot_product.plane"], VIEWS["dot_product.sum"]


def trace(view, name):
    return next(t for t in view.drawing.data if t.get("name") == name)


def sampled(seed):
    return sample_vectors(3, 64, seed=seed), sample_vectors(4, 64, seed=seed, stream=1)


# --- the plane ---


def test_the_question_s_answer_is_minus_3():
    # ‖q‖‖k‖ cos 120° = 2 · 3 · (−½), from the table of cosines
    assert PLANE(angle=120, length_q=2.0, length_k=3.0).numbers["score"] == pytest.approx(-3)


def test_arrows_score_and_curve_agree_with_complex_numbers():
    states = itertools.product(ANGLE.values[::3], LENGTH_Q.values[::3], LENGTH_K.values[::3])
    for angle, length_q, length_k in states:
        view = PLANE(angle=angle, length_q=length_q, length_k=length_k)
        q = complex(*(trace(view, "q")[part][1] for part in "xy"))
        k = complex(*(trace(view, "k")[part][1] for part in "xy"))
        assert abs(q) == pytest.approx(length_q)
        assert abs(k) == pytest.approx(length_k)
        score = (q.conjugate() * k).real
        assert view.numbers["score"] == pytest.approx(score, abs=1e-12)
        assert view.drawing.data[-1]["y"] == pytest.approx([score], abs=1e-12)
        part = complex(*(trace(view, "the part of k along q")[axis][1] for axis in "xy"))
        assert abs(part) == pytest.approx(abs(view.numbers["part of k along q"]), abs=1e-12)
        assert (part * q.conjugate()).imag == pytest.approx(0, abs=1e-12)
        turned = math.radians(angle)
        assert score == pytest.approx(length_q * length_k * math.cos(turned), abs=1e-12)


def test_the_words_follow_the_sign_of_the_score():
    for angle in ANGLE.values:
        view = PLANE(angle=angle)
        score = view.numbers["score"]
        if abs(angle) == 90:
            assert score == 0
        word = "zero" if abs(angle) == 90 else "positive" if abs(angle) < 90 else "negative"
        assert f"**{word}**" in view.notice
        assert math.copysign(1, score) == (1 if abs(angle) <= 90 else -1)
    assert "same way" in PLANE(angle=0).notice
    assert "opposite ways" in PLANE(angle=180).notice
    assert "opposite ways" in PLANE(angle=-180).notice


def test_twice_the_length_gives_twice_the_score():
    one, two = PLANE(length_k=1.5).numbers["score"], PLANE(length_k=3.0).numbers["score"]
    assert two == pytest.approx(2 * one)


def test_nothing_leaves_the_axes_at_the_greatest_lengths():
    view = PLANE(angle=0, length_q=4.0, length_k=4.0)
    low, high = view.drawing.layout["yaxis2"]["range"]
    assert low < -16 < 16 < high
    assert view.drawing.layout["yaxis"]["scaleanchor"] == "x"  # so that angles look right
    reach = view.drawing.layout["xaxis"]["range"][1]
    for angle in ANGLE.values:  # Plotly leaves out a name beyond the axes
        names = next(
            t
            for t in PLANE(angle=angle, length_q=4.0, length_k=4.0).drawing.data
            if t["mode"] == "text"
        )
        assert max(abs(names["x"]).max(), abs(names["y"]).max()) < reach - 0.4


def test_the_caption_and_the_formula_say_the_score():
    view = PLANE(angle=-135)
    # 6 cos 135° = −4.2426
    assert "−4.24" in view.caption
    assert view.formula.count("-4.24") == 2
    assert r"\cos(-135^\circ)" in view.formula


# --- the sum ---


def test_every_cell_of_the_grid_is_the_sum_of_its_first_products():
    q, k = sampled(3)
    for terms in (1, 5, 64):
        grid = SUM(terms=terms, seed=3).drawing.data[0]["z"]
        for i in range(3):
            for j in range(4):
                expected = math.fsum(q[i, c] * k[j, c] for c in range(terms))
                assert grid[i, j] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("cell", CELL.values)
def test_the_chosen_cell_is_outlined_and_its_walk_drawn(cell):
    view = SUM(cell=cell, terms=16, seed=1)
    i, j = int(cell[1]) - 1, int(cell[4]) - 1
    q, k = sampled(1)
    (box,) = view.drawing.layout["shapes"]
    assert (box["x0"] + box["x1"], box["y0"] + box["y1"]) == (2 * j, 2 * i)
    walk = trace(view, "sum")
    assert_array_equal(walk["x"], range(17))
    assert_allclose(walk["y"], [q[i, :n] @ k[j, :n] for n in range(17)], atol=1e-12)
    bars = trace(view, "product")["y"]
    assert_allclose(bars[:16], q[i, :16] * k[j, :16])
    assert (bars[16:] == 0).all()
    assert view.numbers["sum"] == pytest.approx(view.drawing.data[0]["z"][i, j])


def test_the_envelope_is_the_root_of_the_number_of_products():
    view = SUM()
    upper, lower = trace(view, "+√i"), trace(view, "−√i")
    assert_allclose(upper["y"] ** 2, range(65))
    assert_array_equal(lower["y"], -upper["y"])
    assert SUM(terms=16).numbers["law"] == 4


def test_the_axes_hold_every_cell_at_every_seed():
    layout = SUM().drawing.layout
    for seed in SEED.values:
        q, k = sampled(seed)
        products = q[:, None] * k
        assert abs(products).max() < layout["yaxis2"]["range"][1]
        assert abs(products.cumsum(axis=-1)).max() < layout["yaxis3"]["range"][1]


def test_the_share_of_walks_inside_the_envelope_is_that_of_the_exact_law():
    # ∫ of |s|^{(d−1)/2} K_{(d−1)/2}(|s|) / (√π 2^{(d−1)/2} Γ(d/2)) from −√d to √d
    for terms in (4, 16, 64):
        order = (terms - 1) / 2

        def density(s, order=order):
            scale = math.sqrt(math.pi) * 2**order * special.gamma(order + 0.5)
            return s**order * special.kv(order, s) / scale

        inside = 2 * integrate.quad(density, 1e-12, math.sqrt(terms))[0]
        said = int(re.search(r"where (\d+) % of such", SUM(terms=terms).notice).group(1))
        assert said == round(100 * inside)


def test_the_angle_is_that_of_the_cosine():
    q, k = sampled(0)
    view = SUM(terms=32, cell="q2·k3")
    cosine = q[1, :32] @ k[2, :32] / math.sqrt((q[1, :32] ** 2).sum() * (k[2, :32] ** 2).sum())
    assert view.numbers["angle"] == pytest.approx(math.degrees(math.acos(cosine)), abs=1e-9)


def test_the_notice_says_whether_this_walk_is_inside():
    for terms in TERMS.values:
        view = SUM(terms=terms, cell="q2·k1")
        inside = abs(view.numbers["sum"]) <= math.sqrt(terms)
        assert ("is inside ±" in view.notice) == inside
        assert ("is outside ±" in view.notice) == (not inside)


def test_the_table_adds_up():
    table = SUM(terms=10).table
    assert_allclose(table["q_i"] * table["k_i"], table["product"])
    assert_allclose(np.add.accumulate(table["product"]), table["sum"], atol=1e-12)
    assert len(table) == 10


def test_what_the_page_sends_fits_its_budget():
    sent = sum(len(message(spec()).encode()) for spec in (PLANE, SUM))
    assert sent < 150_000
