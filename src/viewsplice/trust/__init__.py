"""Whether a result can be believed: what one latent space still tells about what it should not know."""

from __future__ import annotations

from viewsplice.trust.leaks import Leak, probe_leaks

__all__ = ["Leak", "probe_leaks"]
