"""Whether a result can be believed: what each latent space knows, what chance gives, and what was taken for granted."""

from __future__ import annotations

from viewsplice.trust.agreement import Agreement
from viewsplice.trust.assumptions import Assumption
from viewsplice.trust.auditing import AuditSettings, audit
from viewsplice.trust.dependence import Dependence
from viewsplice.trust.leaks import Leak, probe_leaks
from viewsplice.trust.readings import Told
from viewsplice.trust.shares import Estimate, Shares, variance_shares
from viewsplice.trust.sharing import Sharing, Telling
from viewsplice.trust.verdict import Audit, Finding

__all__ = [
    "Agreement",
    "Assumption",
    "Audit",
    "AuditSettings",
    "Dependence",
    "Estimate",
    "Finding",
    "Leak",
    "Shares",
    "Sharing",
    "Telling",
    "Told",
    "audit",
    "probe_leaks",
    "variance_shares",
]
