"""A data set remembers under which laws its keyed tables were made, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dc
from discreet.file_names import SERVED_LAWS
from discreet.workspace import DataSet, check

from .people import YAML, loaded_people


def policy(folder: Path, text: str) -> None:
    (folder / "discreet.yaml").write_text(YAML + text)


def caveats(folder: Path) -> str:
    with dc.open(folder) as data:
        return " ".join(data.table(rows=["sex"]).release().guarantee.caveats)


def warned(folder: Path) -> str:
    return " ".join(finding.what for finding in check(folder) if finding.severity == "warning")


@pytest.mark.slow
def test_a_changed_law_is_said_in_guarantee_and_check(tmp_path: Path) -> None:
    folder = loaded_people(tmp_path / "people")
    DataSet.open(folder).close()
    assert not (folder / SERVED_LAWS).exists()  # nothing was made yet
    assert "answered" not in caveats(folder)
    policy(folder, "methods:\n  cell-key: {threshold: 3}\n")  # shows less, from the same law
    assert "answered" not in caveats(folder)
    assert "other law" not in warned(folder)
    policy(folder, "methods:\n  cell-key: {max_perturbation: 7, variance: 4}\n")
    assert "tables were made under 1 other law" in warned(folder)
    assert "under 1 other law before: a cell may have been answered 2 times" in caveats(folder)
    policy(folder, "methods:\n  cell-key: {sameness: participants and description}\n")
    assert "under 2 other laws before: a cell may have been answered 3 times" in caveats(folder)
    policy(folder, "")  # back to the first: the others were published nevertheless
    assert "under 2 other laws before" in caveats(folder)
    assert len((folder / SERVED_LAWS).read_text().split()) == 3


def test_an_unreadable_note_counts_as_a_law(tmp_path: Path) -> None:
    folder = loaded_people(tmp_path / "people")
    (folder / SERVED_LAWS).write_bytes(b"\xff\xfe\n")
    assert "under 1 other law before" in caveats(folder)


def test_drawn_noise_needs_no_note(tmp_path: Path) -> None:
    folder = loaded_people(tmp_path / "people")
    policy(folder, 'family: dp\nbudget: {epsilon: "1"}\n')
    with dc.open(folder) as data:
        data.table(rows=["area"], epsilon="0.5").release()
    assert not (folder / SERVED_LAWS).exists()
