"""Who one unit is, over HTTP: what readers must know of it, and nothing a custodian looked at."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from discreet.server import Settings
from discreet.workspace import UnitChoice, declare, declare_unit, init, load

from .serving import serving

BOUND = "At most 2 records of each person are counted."


@pytest.mark.slow
def test_a_bound_is_said_on_every_page_and_what_it_left_out_on_none(tmp_path: Path) -> None:
    lines, number = ["fall_id,patient_id,sex"], 0
    for one in range(80):
        for _ in range(one % 3 + 1):
            number += 1
            lines.append(f"F{number:05d},NHS{one:04d},{'fm'[one % 2]}")
    (tmp_path / "stays.csv").write_text("\n".join(lines) + "\n")
    folder = tmp_path / "work" / "stays"
    init(tmp_path / "stays.csv", folder, family="dp", budget={"epsilon": "4"})
    declare(folder)
    declare_unit(folder, UnitChoice("person", "patient_id", 2, drop=True))
    assert load(folder).manifest.dropped == 26
    settings = Settings(public=("*",), public_spends=True)
    with serving(folder.parent, settings) as base, httpx.Client(base_url=base, timeout=300) as wire:
        table = wire.get("/api/v1/datasets/stays/tables?rows=sex&epsilon=1")
        pages = {
            path: wire.get(path).text
            for path in (
                "/data",
                "/data/stays",
                "/build/stays?rows=sex&epsilon=1",
                "/build/stays",
                "/api/v1/datasets/stays",
                "/api/v1/datasets/stays/tables?rows=sex&epsilon=1",
            )
        }
        others = [wire.get(path).text for path in ("/", "/api/v1/datasets", "/api/v1/config")]
    assert table.status_code == 200
    assert [path for path, text in pages.items() if BOUND not in text] == []
    for text in (*pages.values(), *others):
        assert "patient_id" not in text
        assert "fall_id" not in text
        assert "26 records" not in text
