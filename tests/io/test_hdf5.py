"""Tests of HDF5 and NWB files."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewsplice.io import read_array, read_column
from viewsplice.io.problems import InputFileError

h5py = pytest.importorskip("h5py")

X = np.arange(6.0).reshape(3, 2)


def write(path: Path, datasets: dict[str, Any], userblock: int = 0) -> str:
    with h5py.File(path, "w", userblock_size=userblock) as file:
        for name, values in datasets.items():
            file[name] = values
    return str(path)


@pytest.mark.parametrize("extension", ["h5", "hdf5"])
@pytest.mark.parametrize("userblock", [0, 512])
def test_one_dataset_is_memory_mapped(tmp_path: Path, extension: str, userblock: int) -> None:
    array = read_array(write(tmp_path / f"x.{extension}", {"group/data": X}, userblock))
    assert isinstance(array, np.memmap)
    np.testing.assert_array_equal(array, X)


@pytest.mark.parametrize("userblock", [0, 512])
def test_compressed_and_unwritten_datasets(tmp_path: Path, userblock: int) -> None:
    with h5py.File(tmp_path / "x.h5", "w", userblock_size=userblock) as file:
        file.create_dataset("packed", data=X, compression="gzip")
        file.create_dataset("unwritten", shape=(3, 2), dtype="f4", fillvalue=7)
    np.testing.assert_array_equal(read_array(f"{tmp_path}/x.h5:packed"), X)
    np.testing.assert_array_equal(read_array(f"{tmp_path}/x.h5:unwritten"), np.full((3, 2), 7))


@pytest.mark.parametrize("dtype", [">f4", "?", "i2", "f2"])
def test_number_types(tmp_path: Path, dtype: str) -> None:
    values = (X % 2).astype(dtype)
    array = read_array(write(tmp_path / "x.h5", {"data": values}))
    assert array.dtype == values.dtype.newbyteorder("=")
    np.testing.assert_array_equal(array, values)


def test_a_number_type_numpy_does_not_have(tmp_path: Path) -> None:
    kind = h5py.h5t.STD_I32LE.copy()
    kind.set_precision(16)
    kind.set_offset(8)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        space = h5py.h5s.create_simple((3, 2))
        h5py.h5d.create(file.id, b"data", kind, space).write(h5py.h5s.ALL, h5py.h5s.ALL, X.astype("i4"))
    np.testing.assert_array_equal(read_array(str(tmp_path / "x.h5")), X)


def test_keys(tmp_path: Path) -> None:
    path = write(tmp_path / "x.h5", {"a": X, "group/data": X + 1})
    np.testing.assert_array_equal(read_array(f"{path}:/group/data"), X + 1)
    np.testing.assert_array_equal(read_array(f"{path}:group/data"), X + 1)
    with pytest.raises(InputFileError, match=r"more than one dataset.*x.h5:/a, out of: /a, /group/data$"):
        read_array(path)
    with pytest.raises(InputFileError, match=r"no dataset '/group'; expected one of: /a, /group/data$"):
        read_array(f"{path}:group/")


def test_links_are_followed(tmp_path: Path) -> None:
    write(tmp_path / "x.h5", {"data": X})
    links = {"soft": h5py.SoftLink("/here"), "outside": h5py.ExternalLink("x.h5", "/data"), "here": X + 1}
    path = write(tmp_path / "links.h5", {**links, "broken": h5py.SoftLink("/nowhere")})
    np.testing.assert_array_equal(read_array(f"{path}:/soft"), X + 1)
    np.testing.assert_array_equal(read_array(f"{path}:/outside"), X)
    with pytest.raises(InputFileError, match=r"no dataset '/broken'; expected one of: /here$"):
        read_array(f"{path}:broken")


def test_many_names_are_cut(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=r"/d19$"):
        read_array(write(tmp_path / "x.h5", {f"d{i:02d}": X for i in range(20)}))
    with pytest.raises(InputFileError, match=r"/d19, and 3 more$"):
        read_array(write(tmp_path / "x.h5", {f"d{i:02d}": X for i in range(23)}))


def test_no_matrix_of_numbers(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("ragged", shape=(2,), dtype=h5py.vlen_dtype(np.float32))[0] = [1.0, 2.0]
        file.create_dataset("record", data=np.zeros(2, dtype=[("a", "f4")]))
        file.create_dataset("pointer", shape=(1,), dtype=h5py.ref_dtype)[0] = file["record"].ref
    for name in ("ragged", "record", "pointer"):
        with pytest.raises(InputFileError, match=rf"x.h5:{name} has dtype .*; expected real numbers"):
            read_array(f"{tmp_path}/x.h5:{name}")


def test_text_labels(tmp_path: Path) -> None:
    path = write(tmp_path / "x.h5", {"donor": ["d1", "ü"]})
    assert read_column(path).tolist() == ["d1", "ü"]
    with pytest.raises(InputFileError, match=r"x.h5 has dtype <U2; expected real numbers"):
        read_array(path)


def test_nothing_inside(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=r"x.h5 holds no dataset"):
        read_array(write(tmp_path / "x.h5", {}))


@pytest.mark.parametrize(
    ("name", "expected"), [("x.h5", "an HDF5 file"), ("x.nwb", "an NWB file"), ("x.h5ad", "an AnnData file")]
)
def test_not_hdf5(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / name).write_text("text")
    with pytest.raises(InputFileError, match=rf"{name} cannot be read as {expected} \("):
        read_array(str(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "extra"), [("x.h5", "io"), ("x.h5ad", "omics"), ("x.h5mu", "omics"), ("x.nwb", "nwb")]
)
def test_without_h5py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, extra: str) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / name).write_text("text")
    with pytest.raises(InputFileError, match=rf"needs h5py, which is not installed: pip install viewsplice\[{extra}\]"):
        read_array(str(tmp_path / name))


def test_a_time_series_is_a_group_with_a_dataset(tmp_path: Path) -> None:
    path = write(tmp_path / "x.nwb", {"/acquisition/other/data/values": X + 1, "/acquisition/lfp/data": X})
    np.testing.assert_array_equal(read_array(path), X)


@pytest.fixture
def nwb_file(tmp_path: Path) -> str:
    pynwb = pytest.importorskip("pynwb")
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)  # noqa: UP017
    session = pynwb.NWBFile(session_description="test", identifier="test", session_start_time=start)
    session.add_acquisition(pynwb.TimeSeries(name="lfp", data=X, unit="V", rate=1.0, conversion=2.0))
    module = session.create_processing_module("behavior", "what the animal does")
    module.add(pynwb.TimeSeries(name="speed", data=X[:, 0], unit="m/s", rate=1.0))
    session.add_unit(spike_times=[0.5, 1.5])
    with pynwb.NWBHDF5IO(tmp_path / "x.nwb", "w") as file:
        file.write(session)
    return str(tmp_path / "x.nwb")


def test_nwb(nwb_file: str) -> None:
    np.testing.assert_array_equal(read_array(f"{nwb_file}:/acquisition/lfp"), X)
    np.testing.assert_array_equal(read_column(f"{nwb_file}:/processing/behavior/speed"), X[:, 0])
    with pytest.raises(
        InputFileError, match=r"more than one TimeSeries.*/acquisition/lfp, /processing/behavior/speed$"
    ):
        read_array(nwb_file)
    with pytest.raises(InputFileError, match=r"no TimeSeries '/units'; expected one of: /acquisition/lfp"):
        read_array(f"{nwb_file}:units")
