"""P-table files: three dialects, there and back, and every bad file in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.count_law import Row
from discreet.errors import LawError
from discreet.methods.cellkey.design import design
from discreet.methods.cellkey.dialects import DIALECTS, detect, notes, read, write
from discreet.methods.cellkey.ptable import PTable

from .world import ten_five

REFERENCE = Path(__file__).parent / "reference"


def test_three_forms_of_one_table_of_r_read_alike():
    """The `;` form with and without lower bounds and R's own CSV are one table."""
    texts = [
        (REFERENCE / f"D3V108js1_{name}").read_text()
        for name in ("sas.txt", "tauargus.txt", "ptable.csv")
    ]
    first, *others = [read(text) for text in texts]
    assert all(other.rows == first.rows for other in others)
    assert first.keys == 10**8
    assert write(first, "sdctools") == texts[0]


TABLES = {
    "10-5 rule": ten_five,
    "D5V3js2": lambda keys: design(5, "3", 2, keys=keys),
    "D5V2": lambda keys: design(5, "2", keys=keys),
    "with zeros": lambda keys: PTable(
        keys,
        (Row.of([(0, keys - 3), (3, 3)]), Row.of([(2, 1), (-1, keys // 2), (0, keys // 2 - 1)])),
    ),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "start", ["ons", *(pytest.param(d, marks=pytest.mark.slow) for d in DIALECTS if d != "ons")]
)
def test_through_all_three_and_back_is_the_same_file(name, start):
    """256 keys: from any dialect through the other two and back, byte for byte."""
    around = [d for d in DIALECTS if d != start]
    first = text = write(TABLES[name](256), start)
    for dialect in (*around, start):
        text = write(read(text), dialect)
    assert text == first


@pytest.mark.slow
@pytest.mark.parametrize("name", ["10-5 rule", "D5V3js2"])
def test_4096_keys_through_all_three_and_back(name):
    """4096 keys are exact in twelve decimals: ONS, Cantabular, sdcTools, ONS."""
    first = text = write(TABLES[name](4096), "ons")
    for dialect in ("cantabular", "sdctools", "ons"):
        text = write(read(text), dialect)
    assert text == first


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.slow
def test_a_round_trip_acts_alike_on_every_count_and_key(name):
    """Not only the bytes: the table read back gives the same perturbation for every count and key."""
    table = TABLES[name](256)
    for dialect in DIALECTS:
        back = read(write(table, dialect))
        scale = back.keys // 256
        for count in (*range(30), 499, 500, 501, 749, 750):
            here, there = table.row(count), back.row(count)
            assert [here.at(k) for k in range(256)] == [there.at(k * scale) for k in range(256)]


def test_counts_over_750_are_mapped_only_where_the_dialect_has_it():
    """ONS goes back to rows 501 to 750; a file for others cannot say so and a note does."""
    table = ten_five()
    assert [n + table.row(n).at(0) for n in (751, 752, 753, 999)] == [750, 750, 755, 1000]
    assert not notes(table, "ons")
    assert "last row" in notes(table, "sdctools")[0]
    assert read(write(table, "ons")).cycle == 250


def test_an_ons_file_with_few_rows_leaves_larger_counts_alone():
    """ONS software perturbs no count without a row; that is what reading such a file means."""
    text = "pcv,ckey,pvalue\n" + "".join(
        f"{n},{k},{-(k % 2)}\n" for n in (1, 2) for k in range(256)
    )
    table = read(text)
    assert [table.row(n).fixed for n in (0, 1, 2, 3, 900)] == [True, False, False, True, True]
    for dialect in ("sdctools", "cantabular"):
        assert write(read(write(table, dialect)), "ons") == text


def test_cantabular_ranges_and_the_older_names():
    """Ranges, single keys and any order of lines; ONS's names are the older Cantabular ones."""
    text = "cell_value,cell_key,perturbation\n1,128-255,0\n1,0,-1\n1,1-127,1\n"
    table = read(text)
    assert table.rows[1].intervals == ((-1, 0, 1), (1, 1, 128), (0, 128, 256))
    assert detect("pcv,ckey,pvalue\n") == "ons"


def test_fractions_that_are_no_256th_are_not_forced():
    """A table of 10^8 keys becomes an ONS file only where the number of keys is named."""
    table = read((REFERENCE / "D5V3js2_ptable.csv").read_text())
    with pytest.raises(LawError, match=r"cannot be written exactly .* 256 or 4096"):
        write(table, "ons")
    cut = read(write(table, "ons", keys=256))
    assert cut.keys == 256
    assert cut.bias == 0
    with pytest.raises(LawError, match="cannot be written exactly in 12 decimals"):
        write(design(5, "2", key_bits=64), "sdctools")


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 4), st.integers(0, 255)), min_size=1, max_size=6),
        min_size=1,
        max_size=5,
    )
)
def test_any_table_of_256_keys_survives(raw):
    """Shuffled intervals, repeated perturbations, a row for 0: all survive all dialects."""
    rows = []
    for count, parts in enumerate(raw):
        widths, left = [], 256
        for v, width in parts[:-1]:
            take = min(width, left)
            widths.append((v - min(count, 2), take))
            left -= take
        widths.append((parts[-1][0] - min(count, 2), left))
        rows.append(Row.of(widths))
    table = PTable(256, tuple(rows))
    for start in DIALECTS:
        text = first = write(table, start)
        for dialect in (*[d for d in DIALECTS if d != start], start):
            text = write(read(text), dialect)
        assert text == first


def _ons(change):
    lines = [[n, k, 0] for n in range(1, 4) for k in range(256)]
    change(lines)
    return "pcv,ckey,pvalue\n" + "".join(f"{a},{b},{c}\n" for a, b, c in lines)


SDC = "i;j;p;v;p_int_lb;p_int_ub\n0;0;1.00000000; 0;0.00000000;1.00000000\n"
BAD = {
    "gap in keys": (_ons(lambda x: x.pop(300)), "Row 2 of the p-table does not add up: key 44"),
    "key twice": (_ons(lambda x: x.append([2, 7, 0])), "Row 2 of the p-table gives key 7 twice"),
    "gap in counts": (
        _ons(lambda x: x.__delitem__(slice(256, 512))),
        "no row for count 2 and one for 3",
    ),
    "negative": (_ons(lambda x: x[5].__setitem__(2, -2)), "a count of 1 would become negative"),
    "letters": (_ons(lambda x: x[3].__setitem__(2, "x")), "Line 5 of the p-table is '1,3,x'"),
    "empty": ("pcv,ckey,pvalue\n", "no rows"),
    "no p-table": ("a,b\n1,2\n", "This file is no p-table"),
    "nothing": ("", "This file is no p-table"),
    "row short": (
        SDC + "1;1;0.50000000; 0;0.00000000;0.50000000\n",
        "Row 1 .* add up to 1, got 0.5",
    ),
    "interval gap": (
        SDC + "1;0;0.40000000;-1;0.00000000;0.40000000\n1;1;0.50000000; 0;0.50000000;1.00000000\n",
        "leaves a gap after 0.4",
    ),
    "overlap": (
        SDC + "1;0;0.40000000;-1;0.00000000;0.40000000\n1;1;0.70000000; 0;0.30000000;1.00000000\n",
        "overlaps 0.4",
    ),
    "p is not the width": (
        SDC + "1;1;0.90000000; 0;0.00000000;1.00000000\n",
        "p = 0.9, but its interval is 1 wide",
    ),
    "j is not i + v": (SDC + "1;2;1.00000000; 0;0.00000000;1.00000000\n", "j must be i . v"),
    "negative result": (
        SDC + "1;-1;1.00000000;-2;0.00000000;1.00000000\n",
        "a count of 1 would become negative",
    ),
    "not a number": (SDC + "1;1;nan; 0;0.00000000;1.00000000\n", "expected a number from 0 to 1"),
    "row missing": (SDC + "2;2;1.00000000; 0;0.00000000;1.00000000\n", "no row for count 1"),
    "magnitudes": (
        "i,j,p,v,p_int_lb,p_int_ub,type\n1,1,1,0,0,1,even\n",
        "only tables for counts",
    ),
    "range twice": ("cell_value,cell_key,perturbation\n1,0-9,0\n1,9-255,0\n", "key 9 twice"),
    "range gap": ("cell_value,cell_key,perturbation\n1,0-8,0\n1,10-255,0\n", "key 9 is missing"),
    "range backwards": ("cell_value,cell_key,perturbation\n1,9-0,0\n", "key range 9-0"),
    "rows differ": (
        "cell_value,cell_key,perturbation\n1,0-255,0\n2,0-127,0\n",
        "Row 2 .* 128 of 256 keys",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_in_one_sentence(name):
    """What is wrong, and where; never a traceback."""
    text, why = BAD[name]
    with pytest.raises(LawError, match=why) as told:
        read(text)
    assert "\n" not in told.value.message


def test_a_wrong_dialect_is_named():
    """A file said to be of another dialect is refused, and so is a dialect there is not."""
    with pytest.raises(LawError, match="in the dialect ons, not cantabular"):
        read(_ons(lambda x: None), "cantabular")
    with pytest.raises(LawError, match="dialect must be ons, cantabular, sdctools, got onz"):
        write(ten_five(), "onz")
