"""Sessions of Steinmetz et al. 2019 as NWB files (DANDI 000017), read with h5py: spike times to counts per trial."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from viewsplice._types import Array
from viewsplice.io.hdf5 import load, open_hdf5
from viewsplice.io.problems import InputFileError, check_file, guarded

# Allen acronyms. Secondary motor cortex (MOs) counts as prefrontal, as in the prepared file.
REGIONS: Mapping[str, tuple[str, ...]] = {
    "hippocampus": ("CA", "CA1", "CA2", "CA3", "DG", "POST", "SUB"),
    "prefrontal": ("ACA", "ILA", "MOs", "ORB", "ORBm", "PL"),
}

_BIN_S = 0.01
_N_BINS = 40
_NOT_ASSIGNED = "root"
_GOOD = 2  # phy_annotations: 1 is activity of several neurons, 2 and above are single ones
_LOCATION = "general/extracellular_ephys/electrodes/location"
_TRIALS = {
    "contrast_left": "intervals/trials/visual_stimulus_left_contrast",
    "contrast_right": "intervals/trials/visual_stimulus_right_contrast",
    "feedback_type": "intervals/trials/feedback_type",
}
_ONSET = "intervals/trials/visual_stimulus_time"
_SPIKES, _SPIKE_ENDS = "units/spike_times", "units/spike_times_index"


def read_session(path: Path) -> dict[str, Array]:
    """Return a session as the arrays of the prepared file: spikes, brain_area, region, bin_time_s, and trials.

    Counts are those of the first 0.4 s after stimulus onset, in bins of 10 ms. Left out are trials that the authors
    exclude (``included``), units that are no single neurons (``phy_annotations`` below 2), and other regions.
    """
    check_file(path)
    with guarded(path, "an NWB file"), open_hdf5(path, extra="nwb") as file:
        missing = [name for name in (_SPIKES, _SPIKE_ENDS, _LOCATION, _ONSET, *_TRIALS.values()) if name not in file]
        if missing:
            raise InputFileError(f"{path} lacks {', '.join(missing)}; expected a session of DANDI 000017")
        kept = _optional(file, "intervals/trials/included", len(file[_ONSET])).astype(bool)
        onset = load(file[_ONSET])[kept]
        if not np.isfinite(onset).all():
            raise InputFileError(f"{path}: {_ONSET} holds NaN or infinity; expected the onset of every included trial")
        trials = {name: load(file[column])[kept] for name, column in _TRIALS.items()}
        areas = _unit_areas(file)
        region = region_codes(areas)
        units = np.flatnonzero((region > 0) & (_optional(file, "units/phy_annotations", len(areas), _GOOD) >= _GOOD))
        spikes = _counts(load(file[_SPIKES]), load(file[_SPIKE_ENDS]), units, onset)
    return {
        "spikes": spikes,
        "brain_area": areas[units],
        "region": region[units],
        "bin_time_s": _BIN_S * np.arange(_N_BINS),
        **trials,
    }


def region_codes(areas: Array) -> Array:
    """Return per area the number of its region, counted from 1 in the order of `REGIONS`; 0 for any other."""
    codes = np.zeros(len(areas), np.uint8)
    for code, names in enumerate(REGIONS.values(), start=1):
        codes[np.isin(areas, names)] = code
    return codes


def _optional(file: Any, column: str, length: int, default: int = 1) -> Array:
    return load(file[column]).ravel() if column in file else np.full(length, default)


def _unit_areas(file: Any) -> Array:
    """Return the area of each unit: that of its peak channel, or of its first electrode."""
    location = load(file[_LOCATION])
    site = np.full(len(file[_SPIKE_ENDS]), -1)
    if "units/peak_channel" in file:
        # These files count channels from 1, through all probes.
        site = load(file["units/peak_channel"]).ravel().astype(np.int64) - 1
    elif "units/electrodes" in file:
        electrodes, ends = load(file["units/electrodes"]), load(file["units/electrodes_index"])
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        site[starts < ends] = electrodes[starts[starts < ends]]
    known = (site >= 0) & (site < len(location))
    areas: Array = np.where(known, location[np.where(known, site, 0)], _NOT_ASSIGNED)
    return areas


def _counts(times: Array, ends: Array, units: Array, onset: Array) -> Array:
    """Return spikes per trial, unit and bin [onset + i 10 ms, onset + (i + 1) 10 ms)."""
    edges = onset[:, None] + _BIN_S * np.arange(_N_BINS + 1)
    counts = np.empty((len(onset), len(units), _N_BINS), np.uint16)
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    for i, unit in enumerate(units):
        own = np.sort(times[starts[unit] : int(ends[unit])])
        counts[:, i] = np.diff(np.searchsorted(own, edges), axis=1)
    return counts
