"""How a question that was asked shows itself before anything is spent, on disk and on a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import DiscreetError
from .portrait import Portrait, Portrayed


class Previewed(Portrayed):
    """A question with verdict, price and expected error as plain values (`to_json`)."""

    def to_json(self, *, look_back: bool = True) -> dict[str, Any]:
        """What would happen, as plain values."""
        raise NotImplementedError

    def portrait(self) -> Portrait:
        """Whether it may be asked, what it costs, how far off numbers would be, what is promised."""
        try:
            seen = self.to_json(look_back=False)
        except DiscreetError as refused:
            return Portrait("Nothing was read or spent", [("refused", refused.message)])
        facts = [("refused", breach["sentence"]) for breach in seen["breaches"]]
        facts += [("would work", _words(offer)) for offer in seen["alternatives"]]
        if seen["allowed"]:
            facts += [(name, words) for name, words in _price(seen) if words]
        facts.append(("cells", f"{seen['cells']:,}"))
        facts += [(f"error of {_named(error)}", _error(error)) for error in seen["errors"]]
        promise = seen["guarantee"]
        facts += [("guarantee", promise["sentence"])] if promise else []
        facts += [("note", words) for words in seen["warnings"]]
        return Portrait("Nothing was read or spent", facts)


def _price(seen: Mapping[str, Any]) -> list[tuple[str, str]]:
    cost = seen["cost"] or ""
    if cost and seen["answered_before"]:
        cost += " when first asked; nothing now"
    elif cost and not seen["affordable"]:
        cost += ", more than is left"
    return [("costs", cost), ("left", seen["left"] or "")]


def _words(offer: str | Mapping[str, Any]) -> str:
    return offer if isinstance(offer, str) else str(offer["words"])


def _named(error: Mapping[str, Any]) -> str:
    return " × ".join(str(axis).rpartition(":")[2] for axis in error["axes"]) or "the total"


def _error(error: Mapping[str, Any]) -> str:
    share = error.get("share_unchanged")
    same = "" if share is None else f", {100 * share:.1f} % of them unchanged"
    return f"within ±{error['within_95']:,} in 95 of 100 cells{same}"
