"""Same seed, same bits: in every process, with one thread and with two; and what precision changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.base import clone

from viewsplice import SPLICE, GeometryConfig, MLPNetworks, ResidualNetworks, TrainConfig
from viewsplice.baselines import CCA, DCCAE, RRR

# A saved model holds weights, history and geometry, so that equal files are equal fits.
FITS = """
import hashlib, sys
import numpy as np, torch
from viewsplice import SPLICE, GeometryConfig, MLPNetworks, ResidualNetworks, TrainConfig

assert torch.get_num_threads() == int(sys.argv[1])
rng = np.random.default_rng(0)
shared = rng.uniform(-1, 1, size=(400, 2))
factors = [np.hstack([shared, rng.uniform(-1, 1, size=(400, 1))]) for _ in range(2)]
views = [np.tanh(f @ rng.normal(size=(3, w))) for f, w in zip(factors, (100, 80))]
geometry = GeometryConfig(n_neighbors=12, grow_by=1, n_landmarks=20)
paper = SPLICE(2, 1, recipe="paper", networks=MLPNetworks((128, 64)), geometry=geometry, random_state=0,
               training=TrainConfig(epochs=1, batch_size=180, n_msr=1, restart_passes=1))
auto = SPLICE(2, 1, networks=ResidualNetworks(64, 1, n_frequencies=16), geometry=geometry, random_state=0,
              training=TrainConfig(epochs=1, batch_size=180, scout_epochs=1, regression_epochs=1))
for model in (paper, auto):
    model.fit(views).save(sys.argv[2])
    with open(sys.argv[2], "rb") as file:
        print(hashlib.sha256(file.read()).hexdigest())
    print(hashlib.sha256(model.transform(views).to_array().tobytes()).hexdigest())
"""


def digests(n_threads: int, folder: Path) -> list[str]:
    """Return what two fits in a process of their own come to."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(n_threads))
    threads["OMP_WAIT_POLICY"] = "PASSIVE"  # threads that wait give way: other tests run beside this one
    command = [sys.executable, "-c", FITS, str(n_threads), str(folder / "m.splice")]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **threads})
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


@pytest.mark.parametrize("n_threads", [1, 2])
def test_same_seed_same_bits_in_every_process(n_threads: int, tmp_path: Path) -> None:
    if n_threads > (os.cpu_count() or 1):
        pytest.skip("a single core")
    first, second = digests(n_threads, tmp_path), digests(n_threads, tmp_path)
    assert len(first) == 4
    assert first == second


NETWORKS: dict[str, Any] = {"networks": MLPNetworks((16,)), "random_state": 0}
ESTIMATORS = {
    "paper": SPLICE(
        1,
        1,
        recipe="paper",
        training=TrainConfig(epochs=3, batch_size=50, restart_passes=1, n_msr=1),
        geometry=GeometryConfig(n_neighbors=12, grow_by=1, n_landmarks=20),
        **NETWORKS,
    ),
    "auto": SPLICE(
        1,
        1,
        networks=ResidualNetworks(16, 1, n_frequencies=4),
        training=TrainConfig(epochs=2, scout_epochs=2, regression_epochs=1),
        random_state=0,
    ),
    "RRR": RRR(1, random_state=0),
    "CCA": CCA(1, random_state=0),
    "DCCAE": DCCAE(1, training=TrainConfig(epochs=3, batch_size=50), **NETWORKS),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_single_precision_data_give_the_same_figures(name: str, two_views: tuple[NDArray[np.float64], ...]) -> None:
    """Data rounded to 24 bits: the model agrees to 1e-5 on new rows, a fit to 1e-2 in its figures."""
    rounded = [x.astype(np.float32) for x in two_views]
    model = clone(ESTIMATORS[name]).fit(*two_views)
    latents, other = model.transform(*two_views), model.transform(*rounded)
    for space, z in latents.spaces().items():
        np.testing.assert_allclose(other.spaces()[space], z, atol=1e-5 * (1 + np.abs(z).max(initial=0)))
    again = clone(ESTIMATORS[name]).fit(*rounded)
    assert again.score(*rounded) == pytest.approx(model.score(*two_views), abs=1e-2)
    for view, x in again.reconstruct(*rounded).items():
        assert x.dtype == np.float32
        spread = two_views["AB".index(view)].std()
        assert np.sqrt(np.mean((x - model.reconstruct(*two_views)[view]) ** 2)) < 1e-2 * spread


@pytest.mark.parametrize("name", ["paper", "auto"])
def test_networks_in_double_precision_agree(name: str, two_views: tuple[NDArray[np.float64], ...]) -> None:
    """Single precision costs less than 1e-5 of the spread of a latent space, and of a view."""
    model = clone(ESTIMATORS[name]).fit(*two_views)
    fitted = model.fitted_
    rows = {view: fitted.standardizers[view].forward(x) for view, x in zip("AB", two_views, strict=True)}
    with torch.inference_mode():
        single = fitted.model.encode(rows)
        rebuilt = fitted.model.decode(single)
        double_model = fitted.model.double()
        double = double_model.encode({view: x.double() for view, x in rows.items()})
        exact = double_model.decode(double)
        fitted.model.float()
    for space, z in double.spaces().items():
        assert (single.spaces()[space].double() - z).abs().max() < 1e-5 * (1 + z.abs().max())
    for view, x in exact.items():
        assert (rebuilt[view].double() - x).abs().max() < 1e-4 * (1 + x.abs().max())
