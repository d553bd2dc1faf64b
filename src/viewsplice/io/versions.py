"""The versions of what computes: results depend on them."""

from __future__ import annotations

import platform
from importlib.metadata import version

_PACKAGES = ("viewsplice", "torch", "numpy", "scipy", "scikit-learn")


def installed_versions() -> dict[str, str]:
    """Return the versions that results depend on, by name."""
    return {**{name: version(name) for name in _PACKAGES}, "Python": platform.python_version()}
