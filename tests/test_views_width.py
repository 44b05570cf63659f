import math

import numpy as np
import pytest

from sdpa.parameters import BRANCHES, D_K, FAN_IN, LAYERS
from sdpa.views import VIEWS
from sdpa.views.words import number, percent
from sdpa.width import classifier_head, tanh_layer

SLIDERS = {
    "width.tanh": FAN_IN,
    "width.relu": LAYERS,
    "width.residual": BRANCHES,
    "width.head": FAN_IN,
    "width.aligned": D_K,
}


def column(view, name):
    return view.table[name].to_numpy()


@pytest.mark.parametrize("name", SLIDERS)
def test_each_place_has_one_slider_and_its_dots_follow_it(name):
    row = SLIDERS[name]
    assert list(VIEWS[name].swept) == [row.key]
    drawn = [VIEWS[name](**{row.key: value}) for value in row.values]
    assert len({view.caption for view in drawn}) == len(row.values)
    assert len({len(view.drawing.data) for view in drawn}) == 1
    for value, view in zip(row.values, drawn, strict=True):
        for trace in view.drawing.data:
            if trace["mode"] == "markers":
                assert trace["x"] == [value]
                curves = [
                    t
                    for t in view.drawing.data
                    if t["mode"] == "lines"
                    and t["name"] == trace["name"]
                    and t["yaxis"] == trace["yaxis"]
                ]
                place = list(curves[0]["x"]).index(value)
                assert trace["y"] == [curves[0]["y"][place]]


@pytest.mark.parametrize("name", SLIDERS)
def test_frames_hold_the_axes_and_every_curve_stays_within_them(name):
    row = SLIDERS[name]
    layouts = [VIEWS[name](**{row.key: value}).drawing.layout for value in row.values]
    for axis in [key for key in layouts[0] if key.startswith(("xaxis", "yaxis"))]:
        assert len({str(layout[axis]["range"]) for layout in layouts}) == 1
    for trace in VIEWS[name]().drawing.data:
        for part in "xy":
            axis = layouts[0][f"{part}axis" + trace[f"{part}axis"][1:]]
            values = np.asarray(trace[part], dtype=float)
            values = np.log10(values) if axis["type"] == "log" else values
            low, high = sorted(axis["range"])
            assert ((values >= low) & (values <= high)).all(), trace["name"]


@pytest.mark.parametrize("fan_in", FAN_IN.values)
def test_tanh_shows_what_the_core_measures(fan_in):
    view = VIEWS["width.tanh"](fan_in=fan_in)
    raw, divided = tanh_layer(fan_in), tanh_layer(fan_in, weight_std=fan_in**-0.5)
    assert view.numbers["saturated"] == raw.saturated_share
    assert view.numbers["slope divided"] == divided.mean_slope
    assert percent(raw.saturated_share) in view.caption
    assert number(divided.std) in view.caption
    np.testing.assert_allclose(
        column(view, "std before tanh, variance 1"), np.sqrt(FAN_IN.values), rtol=0.03
    )
    assert (np.diff(column(view, "mean slope, variance 1")) < 0).all()


@pytest.mark.parametrize("layers", LAYERS.values)
def test_relu_signals_fade_by_the_root_of_one_half_a_layer(layers):
    view = VIEWS["width.relu"](layers=layers)
    assert view.numbers["law 1/n"] == pytest.approx(0.5 ** (layers / 2), rel=1e-12)
    # 100 networks: one's mean square varies by √((1 + 5/256)^layers − 1)
    error = 5 * math.sqrt((1 + 5 / 256) ** layers - 1) / 10 / 2 + 1e-9
    assert view.numbers["rms 2/n"] == pytest.approx(1, abs=error)
    assert view.numbers["rms 1/n"] / view.numbers["law 1/n"] == pytest.approx(1, abs=error)
    assert view.numbers["low 2/n"] < view.numbers["rms 2/n"] < view.numbers["high 2/n"]
    assert number(view.numbers["rms 1/n"]) in view.caption


@pytest.mark.parametrize("branches", BRANCHES.values)
def test_the_stream_spreads_like_the_root_or_stays(branches):
    view = VIEWS["width.residual"](branches=branches)
    error = 5 / math.sqrt(2 * 4096)
    assert view.numbers["std"] / math.sqrt(branches + 1) == pytest.approx(1, abs=error)
    assert view.numbers["std divided"] / math.sqrt(2) == pytest.approx(1, abs=error)
    assert f"√{branches + 1}" in view.caption
    assert view.numbers["law"] ** 2 == pytest.approx(branches + 1, rel=1e-12)


@pytest.mark.parametrize("fan_in", FAN_IN.values)
def test_the_head_starts_at_chance_only_with_small_weights(fan_in):
    numbers = VIEWS["width.head"](fan_in=fan_in).numbers
    assert numbers["chance"] == pytest.approx(math.log(10), rel=1e-15)
    assert numbers["loss"] > numbers["loss 1/n"] > numbers["loss 1/n²"] > numbers["chance"]
    assert numbers["loss"] == classifier_head(fan_in).loss
    assert numbers["loss 1/n²"] == classifier_head(fan_in, weight_std=1 / fan_in).loss


@pytest.mark.parametrize("d_k", D_K.values)
def test_one_divisor_fits_independent_sums_and_the_other_aligned_ones(d_k):
    numbers = VIEWS["width.aligned"](d_k=d_k).numbers
    error = 5 * math.sqrt((2 + 6 / d_k) / 10_000) / 2
    assert numbers["independent by √d_k"] == pytest.approx(1, abs=error)
    off = 5 * math.sqrt(1.04 / d_k / 10_000)
    assert numbers["aligned by d_k"] == pytest.approx(0.2, abs=off)
    assert numbers["aligned by √d_k"] == pytest.approx(
        numbers["aligned by d_k"] * math.sqrt(d_k), rel=1e-12
    )


def test_both_panels_of_sums_draw_what_the_table_holds():
    view = VIEWS["width.aligned"]()
    for name, kind in (("independent (rms)", "independent"), ("correlated 0.2 (mean)", "aligned")):
        for axis, divisor in (("y", "√d_k"), ("y2", "d_k")):
            (curve,) = [
                t
                for t in view.drawing.data
                if (t["mode"], t["name"], t["yaxis"]) == ("lines", name, axis)
            ]
            np.testing.assert_allclose(
                curve["y"], column(view, f"{kind}, by {divisor}"), rtol=1e-12
            )
