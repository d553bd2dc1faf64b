"""Tests of the texts that name files."""

from __future__ import annotations

from pathlib import Path

import pytest

from viewsplice.io import Source, parse_source


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v1.npy", Source(None, Path("v1.npy"), None)),
        ("lgn=v1.npy", Source("lgn", Path("v1.npy"), None)),
        ("data.npz:v1", Source(None, Path("data.npz"), "v1")),
        ("lgn=data.npz:v1", Source("lgn", Path("data.npz"), "v1")),
        ("file.h5:/group/data", Source(None, Path("file.h5"), "/group/data")),
        ("rna=some where/cells.h5mu:rna", Source("rna", Path("some where/cells.h5mu"), "rna")),
        ("latents.npz:shared/A->B", Source(None, Path("latents.npz"), "shared/A->B")),
        ("data.npz:a:b", Source(None, Path("data.npz"), "a:b")),
        ("a=data.npz:k=1", Source("a", Path("data.npz"), "k=1")),
        ("C:\\data\\x.npz:v1", Source(None, Path("C:\\data\\x.npz"), "v1")),
        ("C:/data/x.npy", Source(None, Path("C:/data/x.npy"), None)),
        ("lgn=C:\\x.npz:v1", Source("lgn", Path("C:\\x.npz"), "v1")),
        ("run=3/x.npy", Source("run", Path("3/x.npy"), None)),
        ("data/run=3/x.npy", Source(None, Path("data/run=3/x.npy"), None)),
        ("data\\run=3\\x.npy", Source(None, Path("data\\run=3\\x.npy"), None)),
        ("10:30/x.npy", Source(None, Path("10:30/x.npy"), None)),
    ],
)
def test_texts_without_files(text: str, expected: Source) -> None:
    assert parse_source(text) == expected


@pytest.mark.parametrize("name", ["x=1.npy", "a:b.npy", "x=1.npz:k.npz", "größe mit Raum.npy"])
def test_an_existing_path_is_taken_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    assert parse_source(name) == Source(None, Path(name), None)
    assert parse_source(f"lgn={name}") == Source("lgn", Path(name), None)


def test_an_existing_path_before_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x=1.npz").touch()
    (tmp_path / "12:30.h5").touch()
    (tmp_path / "a.b:c.h5").touch()
    monkeypatch.chdir(tmp_path)
    assert parse_source("x=1.npz:k") == Source(None, Path("x=1.npz"), "k")
    assert parse_source("12:30.h5:/a") == Source(None, Path("12:30.h5"), "/a")
    assert parse_source("v=12:30.h5:/a") == Source("v", Path("12:30.h5"), "/a")
    assert parse_source("v=a.b:c.h5:/a") == Source("v", Path("a.b:c.h5"), "/a")
    (tmp_path / "a.b").touch()
    assert parse_source("a.b:c.h5:/a") == Source(None, Path("a.b:c.h5"), "/a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected path, name=path or path:key"),
        ("  ", "expected path, name=path or path:key"),
        ("lgn=", "without a path"),
        ("=v1.npy", "view name '' is not allowed"),
        ("a.b=v1.npy", "view name 'a.b' is not allowed"),
        ("keys=v1.npy", "reserved"),
        ("data.npz:", "without a key after the colon"),
    ],
)
def test_bad_texts(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_source(text)


def test_as_text() -> None:
    assert str(Source("a", Path("x.npz"), "k")) == "x.npz:k"
    assert str(Source("a", Path("x.npy"))) == "x.npy"
