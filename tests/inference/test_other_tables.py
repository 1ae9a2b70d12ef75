"""Tables of other people and files with unusual names: what is a total, and what is no number."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from discreet import formats
from discreet.core.cell_law import CellLaw, MarginLaw, Source
from discreet.core.law_builders import laplace
from discreet.core.table import ProtectedTable
from discreet.errors import CannotConclude, DiscreetError, InputError
from discreet.formats.given_law import read_given_law
from discreet.formats.table_files import read_tables, with_law
from discreet.inference.questions import Conclusions

from ..formats.tables import axis, make
from .tables import cell_law

CELLS = {("A", "F"): 30, ("A", "M"): 21, ("B", "F"): 33, ("B", "M"): 44}


def written(file: Path, rows: list[tuple[str, str, object]]) -> ProtectedTable:
    """A bare CSV file, read."""
    file.write_text("\n".join(["region,sex,count", *(f"{a},{b},{n}" for a, b, n in rows)]))
    return read_tables(file)[0]


@pytest.mark.parametrize("word", ["Total", "ALL", "Insgesamt", "ensemble", "_T"])
@pytest.mark.parametrize("first", [True, False])
def test_a_total_is_none_of_the_categories(tmp_path: Path, word: str, first: bool) -> None:
    """First or last and in several languages: it is read as the total, and tests leave it out."""
    sides = (word, "A", "B") if first else ("A", "B", word), (word, "F", "M")
    rows = [(a, b, CELLS.get((a, b), 64)) for a in sides[0] for b in sides[1]]
    found = written(tmp_path / "t.csv", rows)
    assert found.totals == (True, True)
    assert found.values[:2, :2].tolist() == [[30, 21], [33, 44]]
    law = tmp_path / "law.json"
    law.write_text(json.dumps({"name": "laplace", "parameters": {"epsilon": "1"}}))
    plain = written(tmp_path / "plain.csv", [(a, b, n) for (a, b), n in CELLS.items()])
    given = [Conclusions(with_law(t, read_given_law(law, t))) for t in (found, plain)]
    assert given[0].independence_test().numbers == given[1].independence_test().numbers


def test_two_totals_of_one_variable_are_refused(tmp_path: Path) -> None:
    """Which of them is the total cannot be told."""
    rows = [(a, b, 5) for a in ("All", "A", "Total") for b in ("F", "M")]
    with pytest.raises(InputError, match="several totals of region: All, Total"):
        written(tmp_path / "t.csv", rows)


@pytest.mark.parametrize("code", ["all", "Total", "insgesamt"])
@pytest.mark.parametrize("ending", ["json", "csv", "parquet", "xlsx"])
def test_a_category_called_all_is_one(tmp_path: Path, code: str, ending: str) -> None:
    """In files of ours only the total's own code is a total; the last category counts too."""
    axes = [axis("region", ["x", "y", "z"], codes=["x", "y", code]), axis("sex", ["F", "M"])]
    values = np.array([[30, 20], [25, 44], [9, 17]])
    made = make(
        axes, (False, False), values=values, status=np.zeros((3, 2), np.uint8),
        law=cell_law(laplace("0.5", 10)), noise=False,
    )  # fmt: skip
    formats.write(made, tmp_path / f"t.{ending}")
    (again,) = read_tables(tmp_path / f"t.{ending}")
    expected = Conclusions(made).independence_test()
    assert expected.df == 2
    assert Conclusions(again).independence_test().numbers == expected.numbers


@pytest.mark.parametrize("number", ["1e30", "9223372036854775807", "-1e19", "nan"])
def test_numbers_beyond_measure_are_one_sentence(tmp_path: Path, number: str) -> None:
    """Larger than any table's."""
    with pytest.raises(InputError, match=r"up to 2\^53"):
        written(tmp_path / "t.csv", [("A", "F", number), ("B", "F", 3)])


@pytest.mark.parametrize("ending", ["json", "csv"])
def test_numbers_beyond_measure_in_our_files(tmp_path: Path, ending: str) -> None:
    """A file that was changed is refused in one sentence."""
    made = make(
        [axis("region", ["x", "y"])], (False,), values=np.array([777, 5]),
        status=np.zeros(2, np.uint8), law=cell_law(laplace("0.5", 10)), noise=False,
    )  # fmt: skip
    file = tmp_path / f"t.{ending}"
    formats.write(made, file)
    file.write_text(file.read_text().replace("777", "7" * 25))
    with pytest.raises(InputError):
        read_tables(file)


def test_a_law_of_other_axes_or_sources_is_refused() -> None:
    """One name left over is no reason to take it for the table's; a source must be there."""
    law = CellLaw((Source("x", laplace("1", 5)),), (MarginLaw(("region", "year"), 0),))
    made = make(
        [axis("region", ["x", "y"]), axis("sex", ["F", "M"])], (False, False),
        values=np.array([[7, 5], [3, 9]]), status=np.zeros((2, 2), np.uint8), law=law, noise=False,
    )  # fmt: skip
    with pytest.raises(CannotConclude, match="does not name its axis 'sex'"):
        Conclusions(made).independence_test()
    for source in (1, -1, 0.5, True):
        said = law.to_json()
        said["cells"][0]["source"] = source
        with pytest.raises(DiscreetError, match="no law of a table"):
            CellLaw.from_json(said)
