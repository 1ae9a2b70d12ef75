"""What a version says of records that stay on a server: where they are, and what they were.

The file lies in the version's folder in the place of the records. It has no password and no salt; of a
read-only table it holds the texts of its columns, which are for the custodian only.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..durable import own_file, sync_file
from ..errors import EngineError
from ..file_names import REMOTE
from .address import Address
from .coding import Source
from .fingerprint import Fingerprint
from .place_maps import PlaceMap

FORM = "discreet remote version 1"


@dataclass(frozen=True)
class RemoteVersion:
    """Records of a server as a version holds them."""

    source: Source
    about: dict[str, Any] = field(repr=False)
    fingerprint: Fingerprint
    coded: str = ""
    """The coded table, where there is one."""
    maps: dict[str, PlaceMap] = field(default_factory=dict, repr=False)
    """Of a table that is only read: the places of its texts."""
    weight: tuple[str, str, int, str] | None = None
    """Column, kind, scale and decimal mark of the weight in a table that is only read."""
    id: tuple[str, str] | None = None
    """Column and kind of the id in a table that is only read."""

    def write(self, folder: Path) -> None:
        """Write the file, durably; its owner's alone."""
        source, address = self.source, self.source.address
        assert address is not None
        body = {
            "form": FORM,
            "source": {
                "url": address.url,
                "table": source.table,
                "counting": source.counting,
                "kept_in": source.kept_in,
                "timeout": source.timeout,
            },
            "about": self.about,
            "fingerprint": asdict(self.fingerprint),
            "coded": self.coded,
            "maps": {
                name: [one.column, list(one.places.items())] for name, one in self.maps.items()
            },
            "weight": self.weight,
            "id": self.id,
        }
        path = folder / REMOTE
        own_file(path)
        path.write_text(json.dumps(body, ensure_ascii=False), encoding="utf-8")
        sync_file(path)

    @classmethod
    def read(cls, folder: Path) -> RemoteVersion:
        """Read it back."""
        try:
            body = json.loads((folder / REMOTE).read_text(encoding="utf-8"))
            if body["form"] != FORM:
                raise ValueError
            said = body["source"]
            address = Address.of(said["url"])
            source = Source(
                address.kind,
                Path(address.database),
                said["table"],
                address=address,
                counting=said["counting"],
                kept_in=said["kept_in"],
                timeout=said["timeout"],
            )
            maps = {
                name: PlaceMap(column, dict(items))
                for name, (column, items) in body["maps"].items()
            }
            weight, id_ = body["weight"], body["id"]
            return cls(
                source,
                body["about"],
                Fingerprint(**body["fingerprint"]),
                body["coded"],
                maps,
                None if weight is None else (weight[0], weight[1], weight[2], weight[3]),
                None if id_ is None else (id_[0], id_[1]),
            )
        except (OSError, ValueError, KeyError, TypeError):
            raise EngineError(
                f"{REMOTE} of version {folder.name} is not as it was written. Restore it from a "
                "backup, or load again."
            ) from None
