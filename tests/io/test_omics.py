"""Tests of AnnData and MuData files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from viewsplice.io import problems, read_array, read_column, read_columns, read_names, read_views
from viewsplice.io.problems import InputFileError

anndata = pytest.importorskip("anndata")
pd = pytest.importorskip("pandas")
pytestmark = [
    pytest.mark.filterwarnings("ignore:From 0.4 .update:FutureWarning"),  # mudata announces another default
    pytest.mark.filterwarnings("ignore:Cannot join columns:UserWarning"),  # mudata, for equal names of features
]

X = np.arange(6.0).reshape(3, 2)


def cells(values: Any, names: str = "abc") -> Any:
    data = anndata.AnnData(values)
    data.obs_names = list(names)
    return data


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_main_matrix(tmp_path: Path, kind: Any) -> None:
    cells(kind(X)).write_h5ad(tmp_path / "x.h5ad")
    array = read_array(str(tmp_path / "x.h5ad"))
    assert isinstance(array, np.ndarray)
    np.testing.assert_array_equal(array, X)
    np.testing.assert_array_equal(read_array(f"{tmp_path}/x.h5ad:X"), X)


def test_layers_and_obsm(tmp_path: Path) -> None:
    data = cells(X)
    data.layers["counts"], data.layers["both"] = sparse.csr_matrix(X + 1), X + 2
    data.obsm["X_pca"], data.obsm["both"] = X[:, :1], X + 3
    data.write_h5ad(tmp_path / "x.h5ad")
    path = f"{tmp_path}/x.h5ad"
    np.testing.assert_array_equal(read_array(f"{path}:counts"), X + 1)
    np.testing.assert_array_equal(read_array(f"{path}:X_pca"), X[:, :1])
    np.testing.assert_array_equal(read_array(f"{path}:layers/both"), X + 2)
    np.testing.assert_array_equal(read_array(f"{path}:obsm/both"), X + 3)
    for key in ("both", "raw"):
        with pytest.raises(
            InputFileError, match=rf"no matrix '{key}'; expected one of: X, layers/both, layers/counts, "
        ):
            read_array(f"{path}:{key}")


def test_without_a_main_matrix(tmp_path: Path) -> None:
    anndata.AnnData(obsm={"X_pca": X}).write_h5ad(tmp_path / "x.h5ad")
    with pytest.raises(InputFileError, match=r"no matrix 'X'; expected one of: obsm/X_pca$"):
        read_array(str(tmp_path / "x.h5ad"))


def test_too_large_when_dense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells(sparse.csr_matrix(X)).write_h5ad(tmp_path / "x.h5ad")
    monkeypatch.setattr(problems, "MAX_DENSE_BYTES", X.nbytes - 1)
    with pytest.raises(InputFileError, match=r"x.h5ad holds a sparse matrix of shape \(3, 2\)"):
        read_array(str(tmp_path / "x.h5ad"))


def test_modalities_are_paired_by_cell(tmp_path: Path) -> None:
    mudata = pytest.importorskip("mudata")
    rna, atac = cells(X), cells(sparse.csr_matrix(X[[2, 0, 1]] + 10), "cab")
    rna.layers["counts"] = X + 1
    mudata.MuData({"rna": rna, "atac": atac}).write(tmp_path / "x.h5mu")
    path = f"{tmp_path}/x.h5mu"
    views = read_views([f"rna={path}:rna", f"{path}:atac", f"counts={path}:rna/counts"])
    assert views.names == ("rna", "B", "counts")
    np.testing.assert_array_equal(views["rna"], X)
    np.testing.assert_array_equal(views["B"], X + 10)
    np.testing.assert_array_equal(views["counts"], X + 1)
    with pytest.raises(InputFileError, match=r"more than one modality.*out of: atac, rna$"):
        read_array(path)
    with pytest.raises(InputFileError, match=r"no modality 'protein'; expected one of: atac, rna$"):
        read_array(f"{path}:protein")


def test_modalities_with_different_cells(tmp_path: Path) -> None:
    mudata = pytest.importorskip("mudata")
    mudata.MuData({"rna": cells(X), "atac": cells(X, "abd")}).write(tmp_path / "x.h5mu")
    with pytest.raises(InputFileError, match=r"modality 'rna' has 3 cells, not the same as the 4 of the file"):
        read_array(f"{tmp_path}/x.h5mu:rna")


@pytest.mark.parametrize(("own", "of_file"), [("aab", "aba"), ("aab", "abb"), ("aab", "ab"), ("ab", "abb")])
def test_repeated_cells(tmp_path: Path, own: str, of_file: str) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5mu", "w") as file:
        for group, names in ((file, of_file), (file.create_group("mod/rna"), own)):
            anndata.io.write_elem(group, "obs", pd.DataFrame(index=list(names)))
        anndata.io.write_elem(file["mod/rna"], "X", X[: len(own)])
    with pytest.raises(
        InputFileError, match=rf"modality 'rna' has {len(own)} cells, not the same as the {len(of_file)}"
    ):
        read_array(f"{tmp_path}/x.h5mu:rna")


def test_an_anndata_file_is_no_mudata_file(tmp_path: Path) -> None:
    cells(X).write_h5ad(tmp_path / "x.h5mu")
    with pytest.raises(InputFileError, match=r"x.h5mu holds no modality"):
        read_array(str(tmp_path / "x.h5mu"))


def test_without_anndata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells(X).write_h5ad(tmp_path / "x.h5ad")
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(InputFileError, match=r"needs anndata, which is not installed: pip install viewsplice\[omics\]"):
        read_array(str(tmp_path / "x.h5ad"))


def test_what_is_known_about_cells_and_their_variables(tmp_path: Path) -> None:
    data = cells(X)
    data.obs["type"] = pd.Categorical(["T", "B", "T"])
    data.obs["depth"] = [1.5, 2.5, 3.5]
    data.var_names = ["CD4", "CD8"]
    data.layers["counts"] = X + 1
    data.obsm["X_pca"] = X[:, :1]
    path = f"{tmp_path}/x.h5ad"
    data.write_h5ad(path)
    assert read_column(f"{path}:obs/type").tolist() == ["T", "B", "T"]
    np.testing.assert_array_equal(read_column(f"{path}:obs/depth"), [1.5, 2.5, 3.5])
    assert list(read_columns(f"{path}:obs/type")) == ["type"]
    with pytest.raises(InputFileError, match="has no column of obs 'age'; expected one of: type, depth"):
        read_column(f"{path}:obs/age")
    for key in ("", ":X", ":counts", ":layers/counts"):
        assert read_names(f"{path}{key}") == ["CD4", "CD8"]
    for key in (":X_pca", ":obsm/X_pca"):
        assert read_names(f"{path}{key}") is None


def test_what_is_known_in_a_file_of_several_modalities(tmp_path: Path) -> None:
    mudata = pytest.importorskip("mudata")
    rna, adt = cells(X), cells(X + 1)
    rna.var_names, adt.var_names = ["CD4", "CD8"], ["p1", "p2"]
    both = mudata.MuData({"rna": rna, "adt": adt})
    both.obs["type"] = ["T", "B", "T"]
    path = f"{tmp_path}/x.h5mu"
    both.write_h5mu(path)
    assert read_names(f"{path}:adt") == ["p1", "p2"]
    assert read_names(f"{path}:rna/X") == ["CD4", "CD8"]
    assert read_column(f"{path}:obs/type").tolist() == ["T", "B", "T"]
