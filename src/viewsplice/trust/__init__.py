"""Whether a result can be believed: what one latent space still tells about what it should not know."""

from __future__ import annotations

from viewsplice.trust.leaks import Leak, probe_leaks
from viewsplice.trust.shares import Estimate, Shares, variance_shares

__all__ = ["Estimate", "Leak", "Shares", "probe_leaks", "variance_shares"]
