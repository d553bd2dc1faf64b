"""Fingerprints: the same data, the same digits; any change, others."""

from __future__ import annotations

import numpy as np

from viewsplice import Views
from viewsplice.io import fingerprint, fingerprints


def test_fingerprints_tell_values_shape_and_type() -> None:
    x = np.arange(12.0).reshape(6, 2)
    found = fingerprint(x)
    assert len(found) == 64
    assert fingerprint(x.copy()) == fingerprint(np.asfortranarray(x)) == fingerprint(x[::-1][::-1]) == found
    changed = x.copy()
    changed[5, 1] = 12
    others = {fingerprint(y) for y in (changed, x.reshape(3, 4), x.astype(np.float32), x.reshape(6, 2, 1))}
    assert len(others | {found}) == 5
    assert fingerprints(Views({"a": x, "b": changed})) == {"a": found, "b": fingerprint(changed)}
