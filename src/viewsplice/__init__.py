"""viewsplice: what paired views of one system share, what is private to each, and its geometry."""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viewsplice._types import Latents as Latents
    from viewsplice.columns import ColumnSPLICE as ColumnSPLICE
    from viewsplice.config import GeometryConfig as GeometryConfig
    from viewsplice.config import TrainConfig as TrainConfig
    from viewsplice.estimator import SPLICE as SPLICE
    from viewsplice.exceptions import AutocorrelationWarning as AutocorrelationWarning
    from viewsplice.exceptions import DisconnectedGraphError as DisconnectedGraphError
    from viewsplice.exceptions import GeometryWarning as GeometryWarning
    from viewsplice.exceptions import RestartWarning as RestartWarning
    from viewsplice.exceptions import TrainingDivergedError as TrainingDivergedError
    from viewsplice.networks import ConvNetworks as ConvNetworks
    from viewsplice.networks import MLPNetworks as MLPNetworks
    from viewsplice.networks import ResidualNetworks as ResidualNetworks
    from viewsplice.reporting import report as report
    from viewsplice.splits import Blocks as Blocks
    from viewsplice.sweeps import Sweep as Sweep
    from viewsplice.sweeps import dimension_scan as dimension_scan
    from viewsplice.sweeps import tune as tune
    from viewsplice.training.callbacks import progress as progress
    from viewsplice.training.loop import EpochEvent as EpochEvent
    from viewsplice.trust import audit as audit
    from viewsplice.views import Views as Views

__version__ = _version("viewsplice")

# The module that each public name is taken from when it is first used: torch and scikit-learn take seconds to import.
_PLACES = {
    "SPLICE": "estimator",
    "AutocorrelationWarning": "exceptions",
    "Blocks": "splits",
    "ColumnSPLICE": "columns",
    "ConvNetworks": "networks",
    "DisconnectedGraphError": "exceptions",
    "EpochEvent": "training.loop",
    "GeometryConfig": "config",
    "GeometryWarning": "exceptions",
    "Latents": "_types",
    "MLPNetworks": "networks",
    "ResidualNetworks": "networks",
    "RestartWarning": "exceptions",
    "Sweep": "sweeps",
    "TrainConfig": "config",
    "TrainingDivergedError": "exceptions",
    "Views": "views",
    "audit": "trust",
    "dimension_scan": "sweeps",
    "progress": "training.callbacks",
    "report": "reporting",
    "tune": "sweeps",
}
_PACKAGES = ("baselines", "datasets", "geometry", "metrics", "networks", "plotting", "sweeps", "trust")

__all__ = [
    "SPLICE",
    "AutocorrelationWarning",
    "Blocks",
    "ColumnSPLICE",
    "ConvNetworks",
    "DisconnectedGraphError",
    "EpochEvent",
    "GeometryConfig",
    "GeometryWarning",
    "Latents",
    "MLPNetworks",
    "ResidualNetworks",
    "RestartWarning",
    "Sweep",
    "TrainConfig",
    "TrainingDivergedError",
    "Views",
    "audit",
    "dimension_scan",
    "progress",
    "report",
    "tune",
]


def __getattr__(name: str) -> object:
    """Import a public name, or a package of public names, when it is first used."""
    if name in _PACKAGES:
        return _import_module(f"viewsplice.{name}")
    if name not in _PLACES:
        raise AttributeError(f"module 'viewsplice' has no attribute {name!r}")
    value: object = getattr(_import_module(f"viewsplice.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES, *_PACKAGES})
