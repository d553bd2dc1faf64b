"""Files to named views, and the small writers of a run folder."""

from viewsplice.io.fingerprint import fingerprint, fingerprints, joint_fingerprint, settings_hash
from viewsplice.io.latents import read_latents, write_latents
from viewsplice.io.read import EXTENSIONS, read_array, read_column, read_columns, read_names, read_views
from viewsplice.io.source import Source, parse_source
from viewsplice.io.versions import installed_versions
from viewsplice.io.write import held, json_text, remove_leftovers, write_atomic, write_csv, write_json

__all__ = [
    "EXTENSIONS",
    "Source",
    "fingerprint",
    "fingerprints",
    "held",
    "installed_versions",
    "joint_fingerprint",
    "json_text",
    "parse_source",
    "read_array",
    "read_column",
    "read_columns",
    "read_latents",
    "read_names",
    "read_views",
    "remove_leftovers",
    "settings_hash",
    "write_atomic",
    "write_csv",
    "write_json",
    "write_latents",
]
