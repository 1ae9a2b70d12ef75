"""What a ledger reads of its rows, within one transaction, whatever database they lie in."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..core.charge import Charge
from ..errors import LedgerDamaged
from .base import StoredAnswer
from .chain import START, Account, digest, follow
from .ledger_state import LedgerState, Needs, Sums


class Beside(NamedTuple):
    """The tables beside the log, which must say what the log adds up to."""

    sums: Sums
    answers: dict[str, tuple[int, str, int | None]]
    """Entry, digest and size of the stored measurements by question; None where they are missing."""
    questions: dict[int, str]
    requests: dict[tuple[str, str], str]
    carried: dict[str, tuple[str, str]]


class LedgerRows(ABC):
    """The rows of one ledger within a transaction that the caller has begun, and ends."""

    dataset: str
    name: str
    """What it is called in a sentence."""
    restored_words = "The folder was restored from a backup, or a copy of it was charged meanwhile."
    whole = "folder"
    """What is put back where an older one was."""

    @abstractmethod
    def state(self, needs: Needs, *, after: int | None = None, content: bool = True) -> LedgerState:
        """What decisions need; with `after` also the rows of the log from that one on.

        Without `content` answers are not read, only whether there are some.
        """

    @abstractmethod
    def log(self, after: int = 0, most: int | None = None) -> list[tuple[int, str, str]]:
        """Number, text and hash of the rows after row `after`, in order."""

    @abstractmethod
    def row(self, seq: int) -> str | None:
        """The hash of one row."""

    @abstractmethod
    def restores(self) -> list[str]:
        """The texts of all rows of kind `restore`."""

    @abstractmethod
    def end(self) -> tuple[int, str]:
        """Number and hash of the last row."""

    @abstractmethod
    def head(self) -> str:
        """The hash of the last row that answers something; empty where there is none."""

    @abstractmethod
    def sums(self) -> Sums:
        """Cap and loss of each scope, as they are stored."""

    @abstractmethod
    def answer(self, question: str) -> StoredAnswer | None:
        """The stored answer to a question, checked against its digest."""

    @abstractmethod
    def answers(self, data_version: str | None) -> Iterator[StoredAnswer]:
        """Every answer, or those of one data version, oldest first."""

    @abstractmethod
    def answered(self, questions: Iterable[str]) -> set[str]:
        """Of these questions the ones that were charged, by this name or one an upgrade gave."""

    @abstractmethod
    def questions(self, data_version: str, most: int | None) -> list[str]:
        """The questions answered on a data version by the names they have now, newest first."""

    @abstractmethod
    def data_versions(self, after: int) -> tuple[int, list[str]]:
        """The last row, and the data versions that questions were answered on after row `after`."""

    @abstractmethod
    def beside(self) -> Beside:
        """All tables beside the log."""

    @abstractmethod
    def contents(self) -> Iterator[tuple[str, str, bytes | None]]:
        """Question, digest and measurements of every answer; None where those are missing."""

    # What follows

    def account(self) -> tuple[tuple[int, str], Account]:
        """The end of the log, and what it adds up to; raises where the chain is broken."""
        account = Account()
        return follow(self.log(), 0, START, account, self.name), account

    def stored_answer(self, row: tuple[Any, ...], content: bytes | None) -> StoredAnswer:
        """An answer from its row, its measurements checked against their digest."""
        question, name, seq, text, stored, form = row
        body = json.loads(text)
        if content is None or body["measurements"] != name or digest(content) != name:
            raise LedgerDamaged(
                f"The ledger of {self.dataset} is damaged: the measurements of entry {seq} are missing or are not "
                "those that were charged. Nothing is answered; restore them from a copy."
            )
        return StoredAnswer(
            question,
            content,
            tuple(Charge.from_json(charge) for charge in body["charges"]),
            body["data_version"],
            body["policy_version"],
            body["at"],
            {"entry": seq, "hash": stored},
            fresh=False,
            form=None if form is None else json.loads(form),
        )
