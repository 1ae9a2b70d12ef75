"""The seal on synthetic records: which release they were made from, and that they are still those.

Counts of synthetic records are published as they are, so it must be impossible to slip other
records under them. A version's origin is sealed with the data set's own secrets; on opening, the
seal, the digest of the data file, and that nothing lies beside it are verified. The family in
discreet.yaml and the origin in the manifest must agree in both directions: confidential records
are never counted as they are, and synthetic ones never get a second guarantee of their own.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import replace
from pathlib import Path

from ..core.family import Family
from ..core.origin import Origin
from ..errors import InputError
from ..file_names import ARRAYS, DATA, MANIFEST
from . import secrets, versions

_ITS_FILES = (DATA, ARRAYS, MANIFEST)
_PURPOSE = "origin of synthetic records"


def sealed(
    manifest: versions.Manifest, origin: Origin, own: secrets.DataSetSecrets
) -> versions.Manifest:
    """The manifest with its origin, sealed; after this nothing in it can change."""
    named = replace(manifest, origin=origin.to_json(), seal="")
    return replace(named, seal=_seal(named, own))


def verified(
    folder: Path, version: Path, manifest: versions.Manifest, family: Family
) -> Origin | None:
    """The origin of a version's records, None for records of real units; refuses what is not so."""
    if manifest.origin is None:
        if family is Family.SYNTHETIC:
            raise InputError(
                f"{folder} says family synthetic, but its records were loaded from a source and not "
                "made from a release by `discreet synthetic`: their true counts would be published. "
                "Set the family it had."
            )
        return None
    release = str(manifest.origin.get("release", ""))[:12]
    if family is not Family.SYNTHETIC:
        raise InputError(
            f"{folder} holds synthetic records made from release {release}, which keep that "
            f"release's guarantee and no other: set `family: synthetic`, not {family}."
        )
    own = secrets.read(folder, manifest.epoch)
    beside = sorted(path.name for path in version.iterdir() if path.name not in _ITS_FILES)
    if (
        beside
        or not hmac.compare_digest(manifest.seal, _seal(replace(manifest, seal=""), own))
        or not versions.as_loaded(version, manifest)
    ):
        raise InputError(
            f"The records of {folder} are not those that were made from release {release}, or their "
            "manifest was changed. Nothing is answered; make the data set again with "
            "`discreet synthetic`."
        )
    return Origin.from_json(manifest.origin)


def _seal(manifest: versions.Manifest, own: secrets.DataSetSecrets) -> str:
    text = json.dumps(manifest.facts(), sort_keys=True, ensure_ascii=False)
    return hmac.new(own.derive(_PURPOSE), text.encode(), hashlib.sha256).hexdigest()
