"""What the page carries: features in 8 bits, covariates as numbers or labels, and how large it becomes."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile import FIRST, LEAKS, N_ROWS
from scipy.spatial.distance import pdist

from viewsplice import SPLICE, MLPNetworks, TrainConfig, Views
from viewsplice._types import Array
from viewsplice.page import features as encoding
from viewsplice.page.blocks import Blocks
from viewsplice.page.content import Content, Run, make_content
from viewsplice.page.covariates import covariates, times_of
from viewsplice.page.features import Components, features
from viewsplice.page.file import write_page
from viewsplice.page.scatter import spaces_data, themes_data

MAX_BYTES = 8_000_000


@pytest.fixture
def content(model: SPLICE, views: Views) -> Content:
    return make_content(model, views)


class Reader:
    """Reads blocks again as the page does."""

    def __init__(self, blocks: Blocks) -> None:
        found = re.findall(r'<script type="application/octet-stream" id="(.*?)">(.*?)</script>', blocks.html({}))
        self.texts = dict(found)

    def __call__(self, reference: dict[str, str]) -> Array:
        return np.frombuffer(base64.b64decode(self.texts[reference["id"]]), dtype=f"<{reference['type']}")

    def feature(self, told: dict[str, Any], feature: int) -> Array:
        if told["encoding"] == "components":
            scores = self(told["scores"]).reshape(told["n_components"], -1)
            loadings = self(told["loadings"]).reshape(told["n_components"], -1)[:, feature]
            values: Array = self(told["means"])[feature] + (self(told["scales"]) * loadings) @ scores
            return values
        low, high = self(told["lows"])[feature], self(told["highs"])[feature]
        steps = self(told["values"]).reshape(-1, told["n_kept"])[feature]
        return low + (high - low) * steps / 255


def test_few_numbers_are_kept_for_all_rows(content: Content, views: Views) -> None:
    blocks = Blocks()
    told = features(content, blocks)[0]
    assert (told["encoding"], told["n_kept"], told["kept"], told["names"]) == ("values", N_ROWS, None, None)
    assert told["note"] == "Features are kept in 8 bits for all rows."
    read = Reader(blocks)
    x = views[FIRST][:, 3]
    np.testing.assert_allclose(read.feature(told, 3), x, atol=np.ptp(x) / 500)
    assert read(told["r2"]).min() > 0.9999
    np.testing.assert_allclose(read(told["shared"]), content.shares[FIRST].features["shared"], rtol=1e-6)


def test_pixels_are_called_by_their_place(content: Content) -> None:
    pictures = Views({name: x.reshape(len(x), -1, 1) for name, x in content.views.arrays.items()})
    shown = replace(content, views=pictures)
    vars(shown)["shares"] = content.shares  # of the model, which was fitted to flat rows
    told = features(shown, Blocks())[0]
    assert told["names"] == [f"{i},0" for i in range(8)]


def test_many_numbers_become_components(content: Content, views: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_BUDGET", 2 * 8 * (N_ROWS + 8) - 1000)
    blocks = Blocks()
    told = features(content, blocks)[0]
    assert told["encoding"] == "components"
    assert told["n_components"] == 6
    read = Reader(blocks)
    x = views[FIRST]
    shown = np.column_stack([read.feature(told, i) for i in range(8)])
    r2 = 1 - ((x - shown) ** 2).sum(axis=0) / ((x - x.mean(axis=0)) ** 2).sum(axis=0)
    np.testing.assert_allclose(read(told["r2"]), r2, atol=1e-4)
    total = 1 - ((x - shown) ** 2).sum() / ((x - x.mean(axis=0)) ** 2).sum()
    assert f"6 principal components: R² {total:.3f}" in told["note"]


def test_features_that_no_components_catch_are_kept_for_some_rows(
    content: Content, views: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "_BUDGET", 2 * 8 * 100)
    monkeypatch.setattr(encoding, "_ENOUGH_R2", 1.1)
    monkeypatch.setattr(encoding, "_LEAST_ROWS", 50)
    blocks = Blocks()
    told = features(content, blocks)[0]
    read = Reader(blocks)
    rows = read(told["kept"])
    assert len(rows) == len(set(rows)) == told["n_kept"] == 100
    assert "100 of 300 rows, drawn at random" in told["note"]
    x = views[FIRST][rows, 5]
    np.testing.assert_allclose(read.feature(told, 5), x, atol=np.ptp(x) / 500)
    monkeypatch.setattr(encoding, "_LEAST_ROWS", 101)
    assert features(content, Blocks())[0]["encoding"] == "components"


@pytest.mark.parametrize("n_rows", [30, 200])
def test_components_of_wide_and_of_tall_views(n_rows: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, 50)) + 3.0
    coded = Components(x, np.arange(n_rows), 4)
    assert coded.total_r2 > 0.999
    shown = coded.mean + (coded.scores * coded.scales) @ coded.loadings.T
    np.testing.assert_allclose(shown, x, atol=0.02 * np.ptp(x))


def test_features_without_variance_are_kept_exactly() -> None:
    x = np.column_stack([np.arange(100.0), np.full(100, 7.0)])
    coded = Components(x, np.arange(100), 1)
    np.testing.assert_array_equal(coded.r2[1], 1.0)
    np.testing.assert_allclose(coded.mean[1], 7.0)


def test_covariates_are_read_by_their_type_and_name(content: Content) -> None:
    rows = np.arange(N_ROWS)
    colors: dict[str, Array] = {
        "speed": rows / 10,
        "angle": rows * 1.2,
        "phase": rows / N_ROWS * 2 * np.pi - np.pi,
        "orientation": rows * 0.6,
        "trial": rows // 50,
        "nothing": np.full(N_ROWS, np.nan),
        "forced": rows / 10,
        "orientation class": rows % 4 * 45,
        "side": np.array(["left", "right"])[rows % 2],
    }
    blocks = Blocks()
    told = covariates(replace(content, colors=colors, kinds={"forced": "categorical"}), blocks)
    assert [one["name"] for one in told] == ["part of the split", "group", *colors]
    found = {one["name"]: one for one in told}
    kinds = {name: one["kind"] for name, one in found.items()}
    assert kinds == {
        "part of the split": "categorical",
        "group": "categorical",
        "speed": "continuous",
        "angle": "circular",
        "phase": "circular",
        "orientation": "circular",
        "trial": "categorical",
        "nothing": "none",
        "forced": "categorical",
        "orientation class": "categorical",
        "side": "categorical",
    }
    assert (found["orientation class"]["turn"], found["side"]["turn"]) == (180, None)
    turns = [found[name]["turn"] for name in ("angle", "phase", "orientation")]
    assert turns == pytest.approx([360, 2 * np.pi, 180])
    read = Reader(blocks)
    np.testing.assert_allclose(read(found["speed"]["block"]), rows / 10, rtol=1e-6)
    assert found["trial"]["labels"] == [str(i) for i in range(6)]
    np.testing.assert_array_equal(read(found["trial"]["block"]), rows // 50)
    json.dumps(told, allow_nan=False)


def test_dates_and_times_are_seconds_where_there_are_many() -> None:
    days = np.datetime64("2024-03-01") + np.arange(25)
    seconds = 1_709_251_200 + 86_400.0 * np.arange(25)
    for values in (days, days.astype("datetime64[ns]"), days.astype(str), days.astype(str).astype(object)):
        np.testing.assert_array_equal(times_of(values), seconds)
    zoned = np.array([f"{day} 12:00:00.500+02:00" for day in days])
    np.testing.assert_array_equal(times_of(zoned), seconds + 36_000.5)
    few_missing = np.where(np.arange(25) == 3, np.datetime64("NaT"), days)
    np.testing.assert_array_equal(times_of(few_missing), np.where(np.arange(25) == 3, np.nan, seconds))
    np.testing.assert_array_equal(
        times_of(np.append(days.astype(str), "")), np.append(seconds, np.nan), "an empty cell is missing"
    )
    assert times_of(days[:20]) is None, "a few dates are labels"
    assert times_of(np.append(days.astype(str), "later")) is None, "words are no times"
    assert times_of(np.append(days.astype(str), "2024-02-31")) is None
    assert times_of(seconds) is None, "numbers are numbers"


def test_very_many_labels_become_fewer(content: Content, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewsplice.page.covariates._MOST_LABELS", 3)
    blocks = Blocks()
    labels = np.array(["a"] * 100 + ["b"] * 90 + [f"c{i}" for i in range(110)])
    told = covariates(replace(content, colors={"cell": labels}), blocks)[-1]
    assert told["labels"] == ["a", "b", "(other)"]
    np.testing.assert_array_equal(np.bincount(Reader(blocks)(told["block"])), [100, 90, 110])


def test_spaces_keep_their_coordinates_in_16_bits(content: Content) -> None:
    blocks = Blocks()
    told = spaces_data(content, blocks)
    assert [len(space["axes"]) for space in told] == [2, 2, 1, 3]
    assert [space["kind"] for space in told] == ["shared", "shared", "private", "private"]
    steps = Reader(blocks)(told[0]["block"]).reshape(2, N_ROWS)
    for axis, z in enumerate(content.spaces[told[0]["name"]].T):
        low, high = told[0]["axes"][axis]["low"], told[0]["axes"][axis]["high"]
        np.testing.assert_allclose(low + (high - low) * steps[axis] / 65535, z, atol=np.ptp(z) / 65535)


def test_wide_spaces_are_shown_by_six_principal_axes(content: Content) -> None:
    z = np.random.default_rng(0).normal(size=(N_ROWS, 9)) * np.arange(9, 0, -1)
    wide = replace(content, latents=replace(content.latents, shared={"A->B": z}))
    told = spaces_data(wide, Blocks())[0]
    variances = np.linalg.eigvalsh(np.cov(z.T))[::-1]
    names = [f"axis {i + 1} ({share:.0%})" for i, share in enumerate(variances / variances.sum())]
    assert [axis["name"] for axis in told["axes"]] == names[:6]


def test_colors_end_where_the_ground_does_not_hide_them() -> None:
    blocks = Blocks()
    themes = themes_data(blocks)
    read = Reader(blocks)
    for name, ground in (("light", 255), ("dark", 20)):
        theme = themes[name]
        for scale in ("continuous", "circular"):
            luminance = read(theme[scale]).reshape(256, 3) @ [0.2126, 0.7152, 0.0722]
            assert np.abs(luminance - ground).min() > 18, (name, scale)
        palette = np.array(theme["palette"])
        assert pdist(palette).min() > 60, "labels can be told apart"
    assert np.abs(read(themes["light"]["circular"])[:3].astype(int) - read(themes["light"]["circular"])[-3:]).max() < 8


def test_twenty_thousand_rows_and_1200_features_fit_in_8_megabytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(20_000, 40)).astype(np.float32)
    arrays = {name: factors @ rng.normal(size=(40, n)).astype(np.float32) for name, n in (("lgn", 400), ("v1", 800))}
    views = Views(arrays, groups=np.arange(20_000) // 20)
    training = TrainConfig(epochs=1, batch_size=100, restart_passes=1)
    model = SPLICE(
        4, 4, recipe="paper", networks=MLPNetworks((8,)), training=training, geometry=None, random_state=0
    ).fit(views[:400])
    colors = {f"covariate {i}": factors[:, i] for i in range(6)}
    names = {"v1": [f"neuron {i}" for i in range(800)]}
    content = make_content(model, views, colors=colors, feature_names=names, run=Run(audit={"leaks": LEAKS}))
    path = write_page(content, tmp_path / "page.html")
    assert path.stat().st_size < MAX_BYTES
    kept = re.findall(r"(\d+) principal components: R² ([\d.]+)", path.read_text(encoding="utf-8"))
    assert [int(n) for n, _ in kept] == [78, 76]
    assert all(float(r2) > 0.99 for _, r2 in kept)


def test_numbers_keep_their_digits_in_as_few_bytes_as_they_need(content: Content) -> None:
    rows = np.arange(N_ROWS)
    colors = {
        "seconds": 1_700_000_000 + rows,
        "late": 1e6 + rows / 1000,
        "speed": np.where(rows % 2, np.nan, rows / 7),
        "trial": 12_000.0 + rows,
        "huge": rows * 1e300,
        "nothing": np.full(N_ROWS, np.nan),
    }
    blocks = Blocks()
    told = {one["name"]: one["block"]["type"] for one in covariates(replace(content, colors=colors), blocks)}
    expected = {"seconds": "f8", "late": "f8", "speed": "f4", "trial": "f4", "huge": "f8", "nothing": "f4"}
    assert {name: told[name] for name in colors} == expected
