"""Simultaneous recordings of two brain areas: hippocampus and prefrontal cortex, and V1 and V2.

What is shared and what is private in them is not known: what was measured besides comes as covariates.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from viewsplice._random import RandomState, numpy_generator, root_seed
from viewsplice._types import Array
from viewsplice.datasets.base import MultiViewData, random_split
from viewsplice.datasets.source import DataPath, find_file, load_arrays, require_path
from viewsplice.datasets.steinmetz_nwb import REGIONS, read_session
from viewsplice.views import Views

STEINMETZ = "steinmetz2019_hench_20170615.npz"
MDLAG = "mdlag_v1v2_stim1.npz"
SEMEDO = "semedo_v1v2_sample.npz"

_FRACTIONS = (0.8, 0.1, 0.1)
_STEINMETZ_AXES: Mapping[str, tuple[int | str, ...]] = {
    "spikes": ("trials", "neurons", "bins"),
    "brain_area": ("neurons",),
    "region": ("neurons",),
    "bin_time_s": ("bins",),
    "contrast_left": ("trials",),
    "contrast_right": ("trials",),
    "feedback_type": ("trials",),
}
_MDLAG_BINS = 5  # of 20 ms each
_SEMEDO_BINS = 10
_SEMEDO_VIEWS = {"v2": "v2", "v1": "v1_target"}


def steinmetz(
    data: DataPath | None = None, *, bin_ms: float = 50, min_rate: float = 0.5, random_state: RandomState = 0
) -> MultiViewData:
    """Load hippocampus and prefrontal cortex of a mouse that compares two contrasts (Steinmetz et al. 2019).

    Parameters
    ----------
    data
        An NWB file of DANDI 000017 (a session with both regions, such as mouse Hench on 2017-06-15), or a folder with
        one; or ``steinmetz2019_hench_20170615.npz`` or its folder: spikes (trials, neurons, bins), brain_area and
        region (neurons), bin_time_s (bins), contrast_left, contrast_right and feedback_type (trials). Without it the
        environment variable VIEWSPLICE_DATA names the folder.
    bin_ms
        Bin width: a multiple of the 10 ms of the source. Bins that do not fill the last one are left out.
    min_rate
        Neurons must fire more than this, in spikes per second over all trials.
    random_state
        Seed of the split.

    Returns
    -------
    MultiViewData
        Views "hippocampus" and "prefrontal" (rows, neurons): spike counts, float32, not transformed
        (`viewsplice.counts` has the square root). Rows are trials x bins of the first 0.4 s after stimulus onset, in
        order; groups are trials, split 80/10/10 %. Covariates: "contrast_left", "contrast_right",
        "contrast_difference" (left minus right), "feedback" (1 success, -1 failure), "time" (middle of the bin, in
        seconds after onset). ``details``: "hippocampus_areas" and "prefrontal_areas", acronym of each neuron.
    """
    arrays = _steinmetz_arrays(data)
    spikes, times = arrays["spikes"], arrays["bin_time_s"].astype(np.float64)
    source_s = _bin_width(times)
    n_sum = _bins_to_sum(bin_ms, source_s, spikes.shape[2])
    rates = spikes.mean(axis=(0, 2), dtype=np.float64) / source_s
    chosen = {}
    for code, name in enumerate(REGIONS, start=1):
        chosen[name] = np.flatnonzero((arrays["region"] == code) & (rates > min_rate))
        if not len(chosen[name]):
            n_all = int(np.sum(arrays["region"] == code))
            raise ValueError(
                f"no {name} neuron of {n_all} fires more than {min_rate} spikes per second; expected at least one: "
                "lower min_rate, or take a session that recorded both regions"
            )
    counts = _sum_bins(spikes, n_sum)
    n_trials, _, n_bins = counts.shape
    trial = np.repeat(np.arange(n_trials), n_bins)
    left, right = (arrays[f"contrast_{side}"][trial].astype(np.float64) for side in ("left", "right"))
    generator = numpy_generator(root_seed(random_state), "steinmetz", "split")
    middle = np.round(times[: n_bins * n_sum : n_sum] + n_sum * source_s / 2, 6)
    return MultiViewData(
        views=Views({name: _rows(counts[:, neurons]) for name, neurons in chosen.items()}),
        shared={},
        private={},
        groups=trial,
        split=random_split(len(trial), _FRACTIONS, generator=generator, groups=trial),
        details={f"{name}_areas": arrays["brain_area"][neurons] for name, neurons in chosen.items()},
        covariates={
            "contrast_left": left,
            "contrast_right": right,
            "contrast_difference": left - right,
            "feedback": arrays["feedback_type"][trial].astype(np.int64),
            "time": np.tile(middle, n_trials),
        },
    )


def _steinmetz_arrays(data: DataPath | None) -> dict[str, Array]:
    expected = f"an NWB file of DANDI 000017, a folder with one, or a folder that holds {STEINMETZ}"
    path, source = require_path(data, expected)
    if path.is_dir():
        sessions = sorted(path.glob("*.nwb"))
        if (path / STEINMETZ).is_file():
            path = path / STEINMETZ
        elif len(sessions) == 1:
            path = sessions[0]
        else:
            held = f"holds {len(sessions)} NWB files" if sessions else f"holds neither {STEINMETZ} nor an NWB file"
            raise ValueError(f"{source} is {str(path)!r}, which {held}; expected {expected}")
    return read_session(path) if path.suffix == ".nwb" else load_arrays(path, _STEINMETZ_AXES)


def v1_v2(
    data: DataPath | None = None, *, sample: str = "mdlag", target: str = "v2", random_state: RandomState = 0
) -> MultiViewData:
    """Load V1 and V2 of a macaque that sees gratings: what each trial adds to the mean response.

    Parameters
    ----------
    data
        Folder with the file of the sample, or the file. Without it the environment variable VIEWSPLICE_DATA names the
        folder.
    sample
        "mdlag" (Gokcen et al. 2023, ``mdlag_v1v2_stim1.npz``): spikes (400 trials, units, 64 bins of 20 ms) as in
        the repository egokcen/mDLAG, region (units; 1 is V1, 2 is V2), train (trials), the authors' split.
        "semedo" (Semedo et al. 2019, ``semedo_v1v2_sample.npz``): v1_source, v1_target and v2_target
        (400 trials x 10 bins, units) as in the repository joao-semedo/communication-subspace.
    target
        "v2", or "v1" with sample "semedo": the second view is then other V1 neurons, a control within one area.
    random_state
        Seed of the split.

    Returns
    -------
    MultiViewData
        Views "v1" and "v2" ("v1_target" for the control), (rows, units), float32. Rows are trials x bins in order,
        groups are trials, the covariate "bin" counts within a trial.

    Notes
    -----
    "mdlag": counts are the spikes minus their minimum over a trial, which undoes the centering of the source, summed
    to 12 bins of 100 ms. The test part is the authors'; a sixth of their training trials validates. From every row
    the mean of its bin over the training part is taken: ``details`` holds it as "v1_psth" and "v2_psth" (bins, units).

    "semedo": an 80/10/10 % split by trial. The source has subtracted the mean over all its trials already, test
    trials included. Its bin width is not stated.
    """
    if sample not in ("mdlag", "semedo"):
        raise ValueError(f"sample is {sample!r}; expected 'mdlag' or 'semedo'")
    if target not in _SEMEDO_VIEWS or (sample, target) == ("mdlag", "v1"):
        raise ValueError(f"target is {target!r}; expected 'v2', or 'v1' with sample='semedo'")
    seed = root_seed(random_state)
    return _mdlag(data, seed) if sample == "mdlag" else _semedo(data, target, seed)


def _mdlag(data: DataPath | None, seed: int) -> MultiViewData:
    path = find_file(data, MDLAG, f"a folder that holds {MDLAG}")
    arrays = load_arrays(path, {"spikes": ("trials", "units", "bins"), "region": ("units",), "train": ("trials",)})
    spikes, train = arrays["spikes"], arrays["train"].astype(bool)
    counts = _sum_bins(spikes - spikes.min(axis=2, keepdims=True), _MDLAG_BINS)
    n_trials, _, n_bins = counts.shape
    theirs = numpy_generator(seed, "v1_v2", "mdlag", "split").permutation(np.flatnonzero(train))
    n_validation = round(len(theirs) / 6)
    trials = {"train": theirs[n_validation:], "validation": theirs[:n_validation], "test": np.flatnonzero(~train)}
    psth = counts[np.sort(trials["train"])].mean(axis=0, dtype=np.float64)
    residuals = counts - psth
    units = {name: np.flatnonzero(arrays["region"] == code) for code, name in enumerate(("v1", "v2"), start=1)}
    trial = np.repeat(np.arange(n_trials), n_bins)
    return MultiViewData(
        views=Views({name: _rows(residuals[:, own]) for name, own in units.items()}),
        shared={},
        private={},
        groups=trial,
        split={part: np.flatnonzero(np.isin(trial, own)) for part, own in trials.items()},
        details={f"{name}_psth": psth[own].T for name, own in units.items()},
        covariates={"bin": np.tile(np.arange(n_bins), n_trials)},
    )


def _semedo(data: DataPath | None, target: str, seed: int) -> MultiViewData:
    path = find_file(data, SEMEDO, f"a folder that holds {SEMEDO}")
    second = f"{target}_target"
    arrays = load_arrays(path, {"v1_source": ("rows", "source units"), second: ("rows", "target units")})
    n_rows = len(arrays["v1_source"])
    if n_rows % _SEMEDO_BINS:
        raise ValueError(f"{path} holds {n_rows} rows; expected {_SEMEDO_BINS} bins of every trial")
    trial, time_bin = np.divmod(np.arange(n_rows), _SEMEDO_BINS)
    generator = numpy_generator(seed, "v1_v2", "semedo", "split")
    return MultiViewData(
        views=Views(
            {"v1": arrays["v1_source"].astype(np.float32), _SEMEDO_VIEWS[target]: arrays[second].astype(np.float32)}
        ),
        shared={},
        private={},
        groups=trial,
        split=random_split(n_rows, _FRACTIONS, generator=generator, groups=trial),
        covariates={"bin": time_bin},
    )


def _sum_bins(counts: Array, n: int) -> Array:
    """Return counts (trials, neurons, bins) summed over every n bins, float32; what does not fill n is left out."""
    n_bins = counts.shape[2] // n
    parts = counts[:, :, : n_bins * n].reshape(*counts.shape[:2], n_bins, n)
    summed: Array = parts.sum(axis=3, dtype=np.float32)
    return summed


def _rows(trials: Array) -> Array:
    """Return (trials, neurons, bins) as (trials x bins, neurons), float32."""
    return trials.transpose(0, 2, 1).reshape(-1, trials.shape[1]).astype(np.float32)


def _bin_width(times: Array) -> float:
    """Return the width of bins that follow each other without gaps, in seconds."""
    steps = np.diff(times)
    if not len(steps) or not np.allclose(steps, steps[0], rtol=0.01) or steps[0] <= 0:
        raise ValueError(
            f"bin_time_s begins with {times[:4].tolist()}; expected the start of at least two bins of one width"
        )
    return round(float(np.mean(steps)), 6)  # times in single precision are off by a few ns


def _bins_to_sum(bin_ms: float, source_s: float, n_bins: int) -> int:
    source_ms = 1000 * source_s
    n = round(bin_ms / source_ms) if 0 < bin_ms < np.inf else 0
    if not 1 <= n <= n_bins or not np.isclose(bin_ms, n * source_ms, rtol=1e-3):
        raise ValueError(
            f"bin_ms is {bin_ms}; expected a multiple of {source_ms:.4g}, the bins of the source, "
            f"up to {n_bins * source_ms:.4g}"
        )
    return n
