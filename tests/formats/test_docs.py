"""The examples of docs/reference/formats.md run."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from discreet import formats
from discreet.core.table import Status

from .tables import deaths, make

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "formats.md"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = {
        "table": deaths(),
        "first": deaths(),
        "second": make([], (), values=[5]),
        "stream": io.BytesIO(),
    }
    formats.write(deaths(), "deaths.parquet")
    formats.write(deaths(), "deaths.json")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(block, known)
    assert len(known["rows"]) == 24  # type: ignore[arg-type]
    assert known["about"]["question_hash"] == deaths().provenance.question_hash  # type: ignore[index]
    assert Path("release.xlsx").exists()


def test_every_format_and_status_is_described() -> None:
    text = PAGE.read_text()
    for name, made in formats.FORMATS.items():
        assert f"| `{name}` | `{made.extension}` |" in text
    for status in Status:
        assert f"| `{status.letter}` |" in text if status.letter else "| *(empty)* |" in text
