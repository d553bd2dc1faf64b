"""Counts are summed per trial and bin, trials stay whole, and nothing of a test trial enters what is subtracted."""

from __future__ import annotations

import datetime
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewsplice._types import Array
from viewsplice.datasets import MultiViewData, steinmetz, v1_v2
from viewsplice.io.problems import InputFileError

STEINMETZ = "steinmetz2019_hench_20170615.npz"
MDLAG = "mdlag_v1v2_stim1.npz"
SEMEDO = "semedo_v1v2_sample.npz"
REAL = Path(os.environ.get("VIEWSPLICE_DATA") or Path(__file__).parents[3] / "shared" / "data")
PARTS = ("train", "validation", "test")


def needs(name: str) -> pytest.MarkDecorator:
    missing = not (REAL / name).is_file()
    return pytest.mark.skipif(missing, reason=f"{name} is not here: set VIEWSPLICE_DATA to its folder")


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIEWSPLICE_DATA", raising=False)


def write(folder: Path, name: str, arrays: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / name, **{key: x for key, x in arrays.items() if x is not None})
    return folder


def sizes(data: MultiViewData) -> tuple[int, ...]:
    return tuple(len(data.split[part]) for part in PARTS)


def check_trials_stay_whole(data: MultiViewData, n_bins: int) -> None:
    np.testing.assert_array_equal(data.groups, np.repeat(np.arange(len(data) // n_bins), n_bins))
    trials = [set(data.rows(part).groups) for part in PARTS]
    assert sum(map(len, trials)) == len(set.union(*trials)) == len(data) // n_bins


# Steinmetz et al.


def stand_in_steinmetz() -> dict[str, Any]:
    rng = np.random.default_rng(2)
    areas = np.array(["CA1", "PL", "VISp", "DG", "ILA", "root", "MOs", "CA3", "LP", "SUB"])
    return {
        "spikes": rng.poisson(0.05, (30, 10, 40)).astype(np.uint8),
        "brain_area": areas,
        "region": np.array([1, 2, 0, 1, 2, 0, 2, 1, 0, 1], np.uint8),
        "bin_time_s": (np.arange(40) / 100).astype(np.float32),
        "contrast_left": rng.choice([0, 0.25, 0.5, 1], 30).astype(np.float32),
        "contrast_right": rng.choice([0, 0.25, 0.5, 1], 30).astype(np.float32),
        "feedback_type": rng.choice([-1, 1], 30).astype(np.int8),
    }


@pytest.fixture(params=[pytest.param("real", marks=needs(STEINMETZ)), "stand-in"])
def steinmetz_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return REAL if request.param == "real" else write(tmp_path, STEINMETZ, stand_in_steinmetz())


@pytest.mark.parametrize(("bin_ms", "n_sum"), [(50, 5), (10, 1), (30.0, 3), (400, 40)])
def test_steinmetz_rows_are_summed_bins_of_trials(bin_ms: float, n_sum: int, steinmetz_folder: Path) -> None:
    data = steinmetz(steinmetz_folder, bin_ms=bin_ms)
    with np.load(steinmetz_folder / STEINMETZ) as file:
        source = dict(file)
    spikes = source["spikes"].astype(float)
    rate = spikes.sum(axis=(0, 2)) / (len(spikes) * 0.4)
    n_bins = 40 // n_sum
    assert data.factors() == {}
    for code, view in enumerate(("hippocampus", "prefrontal"), start=1):
        neurons = np.flatnonzero((source["region"] == code) & (rate > 0.5))
        x = data.views[view]
        assert (x.shape, x.dtype) == ((len(spikes) * n_bins, len(neurons)), np.float32)
        for trial in (0, 7, len(spikes) - 1):
            for i in (0, n_bins - 1):
                expected = spikes[trial, neurons, i * n_sum : (i + 1) * n_sum].sum(axis=1)
                np.testing.assert_array_equal(x[trial * n_bins + i], expected)
        np.testing.assert_array_equal(data.details[f"{view}_areas"], source["brain_area"][neurons])
    check_trials_stay_whole(data, n_bins)


def test_steinmetz_covariates_belong_to_the_trial_and_the_bin(steinmetz_folder: Path) -> None:
    data = steinmetz(steinmetz_folder)
    with np.load(steinmetz_folder / STEINMETZ) as file:
        left, right, feedback = (file[name] for name in ("contrast_left", "contrast_right", "feedback_type"))
    expected = {
        "contrast_left": left[data.groups],
        "contrast_right": right[data.groups],
        "contrast_difference": (left - right)[data.groups],
        "feedback": feedback[data.groups],
        "time": np.tile([0.025, 0.075, 0.125, 0.175, 0.225, 0.275, 0.325, 0.375], len(left)),
    }
    assert list(data.covariates) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(data.covariates[name], values, atol=1e-6)
    test = data.rows("test")
    np.testing.assert_array_equal(test.covariates["feedback"], feedback[test.groups])


@needs(STEINMETZ)
def test_the_session_of_hench() -> None:
    data = steinmetz(REAL)
    assert data.views.feature_shapes == {"hippocampus": (103,), "prefrontal": (265,)}
    assert sizes(data) == (1600, 200, 200)
    assert np.sum(data.covariates["feedback"] == 1) == 161 * 8
    everyone = steinmetz(REAL, min_rate=-1)
    areas = [everyone.details[f"{view}_areas"] for view in everyone.views.names]
    assert [dict(zip(*map(np.ndarray.tolist, np.unique(own, return_counts=True)), strict=True)) for own in areas] == [
        {"CA1": 56, "CA3": 17, "DG": 33, "SUB": 34},
        {"ILA": 144, "MOs": 113, "PL": 144},
    ]


def test_neurons_at_the_rate_are_left_out(tmp_path: Path) -> None:
    arrays = stand_in_steinmetz()
    arrays["spikes"] = np.zeros((10, 10, 40), np.uint8)
    # 2 spikes in 10 trials of 0.4 s are 0.5 per second.
    arrays["spikes"][:2, 0, 3] = 1
    arrays["spikes"][:3, 3, 3] = 1
    arrays["spikes"][:, 1, 0] = 1
    for name in ("contrast_left", "contrast_right", "feedback_type"):
        arrays[name] = arrays[name][:10]
    folder = write(tmp_path, STEINMETZ, arrays)
    data = steinmetz(folder)
    assert data.details["hippocampus_areas"].tolist() == ["DG"]
    assert data.details["prefrontal_areas"].tolist() == ["PL"]
    with pytest.raises(ValueError, match=r"no hippocampus neuron of 4 fires more than 2 spikes.*lower min_rate"):
        steinmetz(folder, min_rate=2)


def test_the_seed_decides_the_split(tmp_path: Path) -> None:
    folder = write(tmp_path, STEINMETZ, stand_in_steinmetz())
    first, again, other = (steinmetz(folder, random_state=seed) for seed in (0, 0, 1))
    assert sizes(first) == (24 * 8, 3 * 8, 3 * 8)
    np.testing.assert_array_equal(first.split["test"], again.split["test"])
    assert not np.array_equal(first.split["test"], other.split["test"])
    np.testing.assert_array_equal(first.views["prefrontal"], other.views["prefrontal"])


@pytest.mark.parametrize("bin_ms", [0, -50, 15, 410, 4, np.nan, np.inf])
def test_impossible_bins_raise(bin_ms: float, tmp_path: Path) -> None:
    folder = write(tmp_path, STEINMETZ, stand_in_steinmetz())
    with pytest.raises(ValueError, match=rf"bin_ms is {bin_ms}; expected a multiple of 10, .* up to 400"):
        steinmetz(folder, bin_ms=bin_ms)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"region": None, "spikes": None}, "lacks spikes, region; expected the arrays spikes, "),
        ({"region": np.zeros(9)}, r"region has shape \(9,\); expected \(10,\)"),
        ({"feedback_type": np.zeros((30, 1))}, r"feedback_type has shape \(30, 1\); expected \(30,\)"),
        (
            {"bin_time_s": np.arange(40.0) ** 2},
            "bin_time_s begins with .*; expected the start of at least two bins of one width",
        ),
    ],
)
def test_wrong_sessions_raise(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        steinmetz(write(tmp_path, STEINMETZ, {**stand_in_steinmetz(), **changes}))


def test_the_session_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "here", STEINMETZ, stand_in_steinmetz())
    expected = steinmetz(folder).views["prefrontal"]
    monkeypatch.setenv("VIEWSPLICE_DATA", str(folder))
    np.testing.assert_array_equal(steinmetz().views["prefrontal"], expected)
    monkeypatch.setenv("VIEWSPLICE_DATA", str(tmp_path / "nowhere"))
    np.testing.assert_array_equal(steinmetz(str(folder / STEINMETZ)).views["prefrontal"], expected)
    with pytest.raises(ValueError, match=r"VIEWSPLICE_DATA is '.*nowhere', which does not exist; expected an NWB file"):
        steinmetz()


def test_folders_without_a_session_raise(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"no data are given: pass data=.*VIEWSPLICE_DATA.*{STEINMETZ}"):
        steinmetz()
    with pytest.raises(ValueError, match=f"data is '.*', which holds neither {STEINMETZ} nor an NWB file"):
        steinmetz(tmp_path)
    for name in ("a.nwb", "b.nwb"):
        (tmp_path / name).touch()
    with pytest.raises(ValueError, match="which holds 2 NWB files; expected an NWB file of DANDI 000017"):
        steinmetz(tmp_path)


# ... as NWB

N_TRIALS = 20
LOCATIONS = np.array(["CA1", "PL", "VISp", "DG", "ACA", "root"])
# Units: channel counted from 1, and what the sorter said. The last has a channel that the table does not have.
CHANNELS = np.array([1, 2, 3, 4, 5, 6, 1, 2, 7])
ANNOTATIONS = np.array([2, 3, 2, 2, 2, 2, 1, 2, 2])
INCLUDED = np.arange(N_TRIALS) != 4
SPIKES, ENDS = "units/spike_times", "units/spike_times_index"
LOCATION = "general/extracellular_ephys/electrodes/location"
ONSET = "intervals/trials/visual_stimulus_time"


def session() -> dict[str, Any]:
    """Return the columns of a small session."""
    rng = np.random.default_rng(4)
    spikes = [np.sort(rng.uniform(0, 2 * N_TRIALS, 4000)) for _ in CHANNELS]
    return {
        SPIKES: np.concatenate(spikes),
        ENDS: np.cumsum([len(own) for own in spikes]),
        "units/peak_channel": CHANNELS[:, None],
        "units/phy_annotations": ANNOTATIONS,
        LOCATION: LOCATIONS.tolist(),
        ONSET: np.arange(N_TRIALS) * 2 + 0.123,
        "intervals/trials/included": INCLUDED,
        "intervals/trials/visual_stimulus_left_contrast": rng.choice([0, 0.25, 1], N_TRIALS),
        "intervals/trials/visual_stimulus_right_contrast": rng.choice([0, 0.5, 1], N_TRIALS),
        "intervals/trials/feedback_type": rng.choice([-1, 1], N_TRIALS),
    }


def write_nwb(path: Path, columns: dict[str, Any]) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for name, values in columns.items():
            if values is not None:
                file[name] = values
    return path


def count(columns: dict[str, Any], unit: int, start: float, stop: float) -> int:
    own = np.split(columns[SPIKES], columns[ENDS])[unit]
    return int(np.sum((own >= start) & (own < stop)))


@pytest.mark.parametrize("by", ["file", "folder"])
def test_counts_of_a_session_in_nwb(by: str, tmp_path: Path) -> None:
    columns = session()
    path = write_nwb(tmp_path / "sub-Hench.nwb", columns)
    data = steinmetz(path if by == "file" else tmp_path)
    trials = np.flatnonzero(INCLUDED)
    units = {"hippocampus": [0, 3], "prefrontal": [1, 4, 7]}
    assert data.details["hippocampus_areas"].tolist() == ["CA1", "DG"]
    assert data.details["prefrontal_areas"].tolist() == ["PL", "ACA", "PL"]
    for view, own in units.items():
        onsets = columns[ONSET][trials]
        expected = [[count(columns, u, t + i / 20, t + (i + 1) / 20) for u in own] for t in onsets for i in range(8)]
        assert np.sum(expected) > 100
        np.testing.assert_array_equal(data.views[view], expected)
    check_trials_stay_whole(data, 8)
    for name in ("left", "right"):
        contrast = columns[f"intervals/trials/visual_stimulus_{name}_contrast"][trials]
        np.testing.assert_array_equal(data.covariates[f"contrast_{name}"], np.repeat(contrast, 8))
    np.testing.assert_array_equal(
        data.covariates["feedback"], np.repeat(columns["intervals/trials/feedback_type"][trials], 8)
    )
    np.testing.assert_allclose(data.covariates["time"][:8], np.arange(8) / 20 + 0.025)


def test_a_session_in_nwb_equals_the_prepared_one(tmp_path: Path) -> None:
    columns = session()
    nwb = steinmetz(write_nwb(tmp_path / "x.nwb", columns), bin_ms=10)
    prepared = stand_in_steinmetz()
    trials = np.flatnonzero(INCLUDED)
    onsets = columns[ONSET][trials]
    good = [0, 1, 2, 3, 4, 5, 7, 8]
    prepared["spikes"] = np.array(
        [[[count(columns, u, t + i / 100, t + (i + 1) / 100) for i in range(40)] for u in good] for t in onsets]
    )
    prepared["brain_area"] = np.array(["CA1", "PL", "VISp", "DG", "ACA", "root", "PL", "root"])
    prepared["region"] = np.array([1, 2, 0, 1, 2, 0, 2, 0])
    for name in ("contrast_left", "contrast_right"):
        prepared[name] = columns[f"intervals/trials/visual_stimulus_{name[9:]}_contrast"][trials]
    prepared["feedback_type"] = columns["intervals/trials/feedback_type"][trials]
    file = steinmetz(write(tmp_path, STEINMETZ, prepared), bin_ms=10)
    for view in file.views.names:
        np.testing.assert_array_equal(nwb.views[view], file.views[view])
    for name, values in file.covariates.items():
        np.testing.assert_array_equal(nwb.covariates[name], values)
    for part in PARTS:
        np.testing.assert_array_equal(nwb.split[part], file.split[part])


def test_a_spike_on_an_edge_belongs_to_the_bin_that_it_opens(tmp_path: Path) -> None:
    columns = session()
    edge = columns[ONSET][0] + 0.01 * np.arange(41)
    columns[SPIKES] = np.concatenate([edge[[0, 7, 40]], *([edge[:1]] * 8)])
    columns[ENDS] = 3 + np.arange(9)
    data = steinmetz(write_nwb(tmp_path / "x.nwb", columns), bin_ms=10, min_rate=0)
    assert np.flatnonzero(data.views["hippocampus"][:, 0]).tolist() == [0, 7]


def test_columns_that_may_be_absent(tmp_path: Path) -> None:
    columns = session()
    # Without a peak channel the first electrode counts, from 0; unit 3 has none.
    lengths = np.array([2, 1, 3, 0, 1, 1, 2, 1, 1])
    first = np.array([0, 1, 2, 9, 4, 5, 3, 1, 2])
    electrodes = [[site, *[2] * (n - 1)] if n else [] for site, n in zip(first, lengths, strict=True)]
    columns["units/electrodes"] = np.concatenate(electrodes).astype(int)
    columns["units/electrodes_index"] = np.cumsum(lengths)
    for name in ("units/peak_channel", "units/phy_annotations", "intervals/trials/included"):
        columns[name] = None
    data = steinmetz(write_nwb(tmp_path / "x.nwb", columns))
    assert len(data) == N_TRIALS * 8
    assert data.details["hippocampus_areas"].tolist() == ["CA1", "DG"]
    assert data.details["prefrontal_areas"].tolist() == ["PL", "ACA", "PL"]
    assert data.views["hippocampus"][0, 1] == count(columns, 6, 0.123, 0.173)


def test_units_without_channels_are_in_no_region(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no hippocampus neuron of 0 fires"):
        steinmetz(write_nwb(tmp_path / "x.nwb", {**session(), "units/peak_channel": None}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({SPIKES: None, ONSET: None}, f"lacks {SPIKES}, {ONSET}; expected a session of DANDI 000017"),
        ({ONSET: np.full(N_TRIALS, np.nan)}, f"{ONSET} holds NaN or infinity"),
        ({LOCATION: ["VISp"] * 6}, "no hippocampus neuron of 0 fires .* a session that recorded both regions"),
    ],
)
def test_other_nwb_files_raise(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        steinmetz(write_nwb(tmp_path / "x.nwb", {**session(), **changes}))


def test_a_file_that_is_no_nwb_raises(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    (tmp_path / "x.nwb").write_text("text")
    with pytest.raises(InputFileError, match=r"x\.nwb cannot be read as an NWB file"):
        steinmetz(tmp_path / "x.nwb")


def test_without_h5py_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.nwb").write_text("text")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(InputFileError, match=r"needs h5py, which is not installed: pip install viewsplice\[nwb\]"):
        steinmetz(tmp_path)


def test_a_file_of_pynwb(tmp_path: Path) -> None:
    pynwb = pytest.importorskip("pynwb")
    columns = session()
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)  # noqa: UP017
    file = pynwb.NWBFile(session_description="test", identifier="test", session_start_time=start)
    group = file.create_electrode_group("Probe1", "", "brain", file.create_device("probe"))
    for location in LOCATIONS:
        file.add_electrode(location=str(location), group=group)
    file.add_unit_column("peak_channel", "counted from 1")
    for channel, own in zip(CHANNELS[:-1], np.split(columns[SPIKES], columns[ENDS]), strict=False):
        file.add_unit(spike_times=own, electrodes=[0], peak_channel=int(channel))
    names = [name.split("/")[-1] for name in columns if name.startswith("intervals") and "included" not in name]
    for name in names:
        file.add_trial_column(name, name)
    for i in range(N_TRIALS):
        values = {name: columns[f"intervals/trials/{name}"][i] for name in names}
        file.add_trial(start_time=2.0 * i, stop_time=2.0 * i + 1, **values)
    with pynwb.NWBHDF5IO(tmp_path / "theirs.nwb", "w") as writer:
        writer.write(file)
    plain = {**columns, "intervals/trials/included": None, "units/phy_annotations": None}
    theirs, ours = (steinmetz(path) for path in (tmp_path / "theirs.nwb", write_nwb(tmp_path / "ours.nwb", plain)))
    for view in ours.views.names:
        np.testing.assert_array_equal(theirs.views[view], ours.views[view])
    assert theirs.details["hippocampus_areas"].tolist() == ["CA1", "DG", "CA1"]


# V1 and V2: mDLAG


def mdlag_counts() -> Array:
    """Return counts (trials, units, bins) with an empty bin in every trial of every unit."""
    rng = np.random.default_rng(3)
    counts = rng.poisson(rng.uniform(0.5, 3, (1, 7, 64)), (40, 7, 64))
    counts[:, :, 11] = 0
    return counts


def stand_in_mdlag() -> dict[str, Any]:
    counts = mdlag_counts()
    return {
        "spikes": (counts - counts.mean(axis=2, keepdims=True)).astype(np.float32),
        "region": np.array([1, 1, 2, 1, 2, 1, 1], np.uint8),
        "train": np.arange(40) % 4 != 1,
    }


def test_mdlag_rows_are_counts_minus_the_training_mean(tmp_path: Path) -> None:
    data = v1_v2(write(tmp_path, MDLAG, stand_in_mdlag()))
    counts = np.stack([mdlag_counts()[:, :, 5 * i : 5 * i + 5].sum(axis=2) for i in range(12)], axis=1)
    training = np.unique(data.rows("train").groups)
    for view, units in {"v1": [0, 1, 3, 5, 6], "v2": [2, 4]}.items():
        mean = counts[training][:, :, units].mean(axis=0)
        x = data.views[view]
        assert (x.shape, x.dtype) == ((480, len(units)), np.float32)
        np.testing.assert_allclose(x.reshape(40, 12, -1), counts[:, :, units] - mean, atol=1e-5)
        np.testing.assert_allclose(data.details[f"{view}_psth"], mean, rtol=1e-6)
        means = {part: data.rows(part).views[view].reshape(-1, 12, len(units)).mean(axis=0) for part in PARTS}
        np.testing.assert_allclose(means["train"], 0, atol=1e-5)
        assert np.abs(means["test"]).max() > 0.01
        assert np.abs(means["validation"]).max() > 0.01
    np.testing.assert_array_equal(data.covariates["bin"], np.tile(np.arange(12), 40))
    assert data.factors() == {}


def test_mdlag_keeps_the_authors_test_trials(tmp_path: Path) -> None:
    folder = write(tmp_path, MDLAG, stand_in_mdlag())
    first, again, other = (v1_v2(folder, random_state=seed) for seed in (0, 0, 1))
    for data in (first, again, other):
        assert sizes(data) == (25 * 12, 5 * 12, 10 * 12)
        assert set(data.rows("test").groups) == set(range(1, 40, 4))
        check_trials_stay_whole(data, 12)
    np.testing.assert_array_equal(first.split["validation"], again.split["validation"])
    assert not np.array_equal(first.split["validation"], other.split["validation"])


@needs(MDLAG)
def test_the_mdlag_sample() -> None:
    data = v1_v2(REAL)
    assert data.views.feature_shapes == {"v1": (84,), "v2": (26,)}
    assert sizes(data) == (250 * 12, 50 * 12, 100 * 12)
    with np.load(REAL / MDLAG) as file:
        rates, region = file["firing_rate_hz"], file["region"]
        np.testing.assert_array_equal(np.unique(data.rows("test").groups), np.flatnonzero(~file["train"]))
    for code, view in enumerate(("v1", "v2"), start=1):
        psth = np.tile(data.details[f"{view}_psth"], (400, 1))
        counts = data.views[view] + psth
        np.testing.assert_allclose(counts, np.rint(counts), atol=1e-4)
        # The file has the rate of 1.28 s; counts are of its first 1.2 s.
        np.testing.assert_allclose(counts.mean(axis=0) * 10, rates[region == code], rtol=0.1)


# V1 and V2: Semedo et al.


def stand_in_semedo() -> dict[str, Any]:
    rng = np.random.default_rng(6)
    widths = {"v1_source": 6, "v1_target": 4, "v2_target": 3}
    return {name: rng.normal(size=(300, width)).astype(np.float32) for name, width in widths.items()}


@pytest.fixture(params=[pytest.param("real", marks=needs(SEMEDO)), "stand-in"])
def semedo_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return REAL if request.param == "real" else write(tmp_path, SEMEDO, stand_in_semedo())


@pytest.mark.parametrize(("target", "view", "array"), [("v2", "v2", "v2_target"), ("v1", "v1_target", "v1_target")])
def test_semedo_rows_are_the_source_s(target: str, view: str, array: str, semedo_folder: Path) -> None:
    data = v1_v2(semedo_folder, sample="semedo", target=target)
    assert data.views.names == ("v1", view)
    with np.load(semedo_folder / SEMEDO) as file:
        np.testing.assert_array_equal(data.views["v1"], file["v1_source"])
        np.testing.assert_array_equal(data.views[view], file[array])
    check_trials_stay_whole(data, 10)
    n = len(data)
    assert sizes(data) == (0.8 * n, 0.1 * n, 0.1 * n)
    np.testing.assert_array_equal(data.covariates["bin"], np.tile(np.arange(10), n // 10))


def test_semedo_needs_the_target_only(tmp_path: Path) -> None:
    folder = write(tmp_path, SEMEDO, {**stand_in_semedo(), "v1_target": None})
    assert v1_v2(folder, sample="semedo").views.names == ("v1", "v2")
    with pytest.raises(InputFileError, match="lacks v1_target"):
        v1_v2(folder, sample="semedo", target="v1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sample": "v4"}, "sample is 'v4'; expected 'mdlag' or 'semedo'"),
        ({"target": "v1"}, "target is 'v1'; expected 'v2', or 'v1' with sample='semedo'"),
        ({"sample": "semedo", "target": "v1_target"}, "target is 'v1_target'"),
        ({"sample": "mdlag"}, f"data is '.*', which lacks {MDLAG}; expected a folder that holds {MDLAG}"),
        ({"sample": "semedo"}, f"data is '.*', which lacks {SEMEDO}"),
    ],
)
def test_wrong_choices_raise(arguments: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        v1_v2(tmp_path, **arguments)


def test_trials_must_be_complete(tmp_path: Path) -> None:
    arrays = {name: x[:299] for name, x in stand_in_semedo().items()}
    with pytest.raises(ValueError, match="holds 299 rows; expected 10 bins of every trial"):
        v1_v2(write(tmp_path, SEMEDO, arrays), sample="semedo")


def test_the_samples_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path, MDLAG, stand_in_mdlag())
    monkeypatch.setenv("VIEWSPLICE_DATA", str(folder))
    np.testing.assert_array_equal(v1_v2().views["v2"], v1_v2(folder / MDLAG).views["v2"])
