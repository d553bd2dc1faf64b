"""viewsplice: what paired views of one system share, what is private to each, and its geometry."""

from importlib.metadata import version as _version

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
from viewsplice.report import report as report
from viewsplice.splits import Blocks as Blocks
from viewsplice.sweeps import Sweep as Sweep
from viewsplice.sweeps import dimension_scan as dimension_scan
from viewsplice.sweeps import tune as tune
from viewsplice.training.callbacks import progress as progress
from viewsplice.training.loop import EpochEvent as EpochEvent
from viewsplice.trust import audit as audit
from viewsplice.views import Views as Views

__version__ = _version("viewsplice")

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
