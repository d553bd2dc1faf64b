"""One fit among many: what it would warn of is said once elsewhere, not by every worker."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.base import clone

from viewsplice.estimator import SPLICE
from viewsplice.exceptions import AutocorrelationWarning, GeometryWarning
from viewsplice.views import Views


def quiet_fit(model: SPLICE, views: Views, *, validation: Any) -> SPLICE:
    """Return a fitted copy of an estimator."""
    copied: SPLICE = clone(model)
    with warnings.catch_warnings():
        for category in (GeometryWarning, AutocorrelationWarning):
            warnings.simplefilter("ignore", category)
        return copied.fit(views, validation=validation)
