"""Figures of fitted models: functions that draw on given axes and return them (needs the extra ``plot``).

Colors are safe for color-blind readers and for print. Nothing global changes: no pyplot, no current figure, no backend.
"""

try:
    import matplotlib  # noqa: F401 - a clear message here beats one from the depth of a module
except ImportError as error:
    raise ImportError("viewsplice.plotting needs matplotlib: pip install 'viewsplice[plot]'") from error

from viewsplice.plotting.canvas import to_png as to_png
from viewsplice.plotting.canvas import to_svg as to_svg
from viewsplice.plotting.colors import ColorKind as ColorKind
from viewsplice.plotting.evidence import barcode_plot as barcode_plot
from viewsplice.plotting.evidence import leak_plot as leak_plot
from viewsplice.plotting.features import feature_map as feature_map
from viewsplice.plotting.geometry import distance_plot as distance_plot
from viewsplice.plotting.geometry import spectrum_plot as spectrum_plot
from viewsplice.plotting.geometry import width_plot as width_plot
from viewsplice.plotting.latents import latent_scatter as latent_scatter
from viewsplice.plotting.reconstruction import reconstruction_plot as reconstruction_plot
from viewsplice.plotting.shares import feature_r2 as feature_r2
from viewsplice.plotting.shares import feature_shares as feature_shares
from viewsplice.plotting.shares import share_bars as share_bars
from viewsplice.plotting.sweeps import curve_plot as curve_plot
from viewsplice.plotting.sweeps import scan_plot as scan_plot
from viewsplice.plotting.sweeps import trials_plot as trials_plot
from viewsplice.plotting.training import loss_curves as loss_curves

__all__ = [
    "ColorKind",
    "barcode_plot",
    "curve_plot",
    "distance_plot",
    "feature_map",
    "feature_r2",
    "feature_shares",
    "latent_scatter",
    "leak_plot",
    "loss_curves",
    "reconstruction_plot",
    "scan_plot",
    "share_bars",
    "spectrum_plot",
    "to_png",
    "to_svg",
    "trials_plot",
    "width_plot",
]
