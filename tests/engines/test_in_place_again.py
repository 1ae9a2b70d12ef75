"""Loading again in place: `counting` is followed, what is gone is made anew, and `check` says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.core.control import Control
from discreet.core.domain import Count
from discreet.engines.remote_version import RemoteVersion
from discreet.errors import EngineError
from discreet.workspace import DataSet, check, init, load
from discreet.workspace.unit_choice import UnitChoice

from ..servers.postgres import PASSWORD, PostgresServer

FROZEN = "  counting: read-only\n  frozen: yes\n"


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)


@pytest.fixture
def loaded(postgres: PostgresServer, tmp_path: Path) -> tuple[str, Path]:
    """A database, and a data set streamed in from its table."""
    name, role = postgres.database(), postgres.role("reader")
    postgres.execute(
        "CREATE TABLE people AS SELECT i AS id, 'T' || i % 3 AS town, 'S' || i % 2 AS sex "
        "FROM generate_series(1, 300) i",
        f"GRANT SELECT ON people TO {role}", f"GRANT CREATE ON DATABASE {name} TO {role}",
        database=name,
    )  # fmt: skip
    init(postgres.url(name, role), tmp_path / "people", unit=UnitChoice("person", "id"))
    return name, tmp_path / "people"


def counting(folder: Path, lines: str) -> None:
    """Write under `source` how records are counted."""
    described = folder / "discreet.yaml"
    head, _, rest = described.read_text().partition("  table: people\n")
    kept = rest[rest.index("\n# Whom") :]
    described.write_text(f"{head}  table: people\n{lines}{kept}")


def kept_on_server(folder: Path) -> str | None:
    """How the version served is counted; None where its records are here."""
    with DataSet.open(folder) as data:
        data.engine().count([Count(())])
        if not (data.version / "remote.json").exists():
            return None
        return RemoteVersion.read(data.version).source.counting


def errors(folder: Path) -> list[str]:
    return [found.what for found in check(folder, Control()) if found.severity == "error"]


def test_a_load_counts_where_the_description_says(loaded: tuple[str, Path]) -> None:
    """The same records, to be counted elsewhere, are loaded again and served from there."""
    _, folder = loaded
    with DataSet.open(folder) as data:
        version = data.manifest.data_version
    for lines, where in (
        ("  counting: coded\n", "coded"),
        (FROZEN, "read-only"),
        ("", None),
        (f"{FROZEN}  timeout: 77\n", "read-only"),
    ):
        counting(folder, lines)
        load(folder)
        assert kept_on_server(folder) == where
        with DataSet.open(folder) as data:
            assert data.manifest.data_version == version
    assert load(folder).unchanged
    with DataSet.open(folder) as data:
        assert RemoteVersion.read(data.version).source.timeout == 77


def test_a_coded_table_that_is_gone_is_made_anew(
    loaded: tuple[str, Path], postgres: PostgresServer
) -> None:
    """The data set is unavailable, `check` says why, and `load` makes the table again."""
    name, folder = loaded
    counting(folder, "  counting: coded\n")
    load(folder)
    assert errors(folder) == []
    with DataSet.open(folder) as data:
        table = RemoteVersion.read(data.version).coded
        postgres.execute(f'DROP TABLE discreet."{table}"', database=name)
        with pytest.raises(EngineError, match="unavailable"):
            data.engine().count([Count(())])
    (found,) = errors(folder)
    assert "is not there any more" in found
    assert not load(folder).unchanged
    assert kept_on_server(folder) == "coded"
    assert errors(folder) == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("REVOKE SELECT ON people FROM reader", "no right to read"),
        ("ALTER TABLE people RENAME TO persons", "no table 'people'"),
        ("ALTER TABLE people DROP town", "no column 'town'"),
    ],
)
def test_check_says_why_nothing_is_counted(
    change: str, why: str, loaded: tuple[str, Path], postgres: PostgresServer
) -> None:
    """Readers learn that data are unavailable, their custodian which right or table is missing."""
    name, folder = loaded
    counting(folder, FROZEN)
    load(folder)
    postgres.execute(change, database=name)
    with DataSet.open(folder) as data, pytest.raises(EngineError, match="unavailable") as told:
        data.engine().count([Count(())])
    assert why not in str(told.value)
    assert any(why in found for found in errors(folder))
