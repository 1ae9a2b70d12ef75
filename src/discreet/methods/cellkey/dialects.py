"""P-table files: read, write and convert the three dialects.

    ons         pcv,ckey,pvalue                        one line for each count 1 … 750 and key
    cantabular  cell_value,cell_key,perturbation       the same, with key ranges a-b
    sdctools    i;j;p;v;p_int_lb;p_int_ub              one line for each outcome, keys as fractions

sdcTools files are also read without `p_int_lb` (tau-Argus) and with commas and `type` (R ptable).

Keys. A fraction of eight decimals is one of 10^8 keys. 256 keys are exact in them (1/256 is
0.00390625), and 4096 keys are exact in twelve decimals, so a table of either converts to sdcTools
and back without loss. A table that is exact in neither 256 nor 4096 keys is written for ONS or
Cantabular only where the caller names the number of keys, and then it is another table.

Beyond the last row. sdcTools and Cantabular tables: the last row serves every larger count. ONS:
counts over 750 go back to rows 501 … 750, and a count without a row stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from ...core.count_law import Row, check_keys
from ...errors import LawError, did_you_mean
from .keyed_files import WHOLE, read_keyed
from .ptable import FRACTIONAL, PTable

DIALECTS = ("ons", "cantabular", "sdctools")
ONS_ROWS, ONS_CYCLE = 750, 250
ONS_KEYS = (256, 4096)
_MOST_ONS_KEYS = 1 << 16
_HEADS = {
    "ons": ("pcv", "ckey", "pvalue"),
    "cantabular": ("cell_value", "cell_key", "perturbation"),
    "sdctools": ("i", "j", "p", "v", "p_int_ub"),
}
_FEW_DECIMALS, _MANY_DECIMALS = 8, 12


def check_dialect(dialect: str) -> str:
    """A known dialect, or `LawError`."""
    if dialect not in DIALECTS:
        raise LawError(
            f"dialect must be {', '.join(DIALECTS)}, got {str(dialect)[:40]}."
            f"{did_you_mean(str(dialect), DIALECTS)}"
        )
    return dialect


def detect(text: str) -> str:
    """The dialect of a p-table file, by its first line.

    >>> detect("pcv,ckey,pvalue\\n1,0,0\\n")
    'ons'
    """
    columns = _columns(text)[0]
    for dialect, head in _HEADS.items():
        if set(head) <= set(columns):
            return dialect
    raise LawError(
        f"This file is no p-table: its first line has the columns {', '.join(columns)[:60] or 'none'}. "
        f"Allowed are {'; '.join(','.join(head) for head in _HEADS.values())}."
    )


def read(text: str, dialect: str | None = None, *, negatives: bool = False) -> PTable:
    """The p-table of a file; a bad file gets one sentence that names the row.

    `negatives` allows count + perturbation < 0, which a table for publication must not have.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    found = detect(text)
    if dialect is not None and check_dialect(dialect) != found:
        raise LawError(f"The p-table file is in the dialect {found}, not {dialect} as was said.")
    table = _read_fractions(text) if found == "sdctools" else _read_keyed(text, found)
    for count, row in enumerate(table.rows):
        if not negatives and min(row.perturbations) < -count:
            raise LawError(
                f"Row {count} of the p-table has perturbation {min(row.perturbations)}: a count of "
                f"{count} would become negative. Allowed is {-count} or more."
            )
    return table


def write(table: PTable, dialect: str, *, keys: int | None = None) -> str:
    """The p-table as a file, the same bytes for the same table.

    `keys` cuts the table into so many keys first; without it only an exact file is written.
    """
    check_dialect(dialect)
    if dialect == "sdctools":
        return _write_fractions(table, keys)
    cut = _cut(table, dialect, keys)
    if dialect == "cantabular":
        first = int(cut.zeros_kept and cut.max_count > 0)
        lines = ["cell_value,cell_key,perturbation"]
        for count in range(first, cut.max_count + 1):
            for v, low, high in cut.rows[count].intervals:
                span = f"{low}-{high - 1}" if high - low > 1 else f"{low}"
                lines.append(f"{count},{span},{v}")
        return "\n".join(lines) + "\n"
    if cut.max_count > ONS_ROWS:
        raise LawError(
            f"An ONS p-table has counts up to {ONS_ROWS}, got {cut.max_count}. "
            "Use the dialect cantabular or sdctools."
        )
    last = ONS_ROWS
    if cut.cycle == 1 and cut.rows[-1].fixed and 0 < cut.max_count < ONS_ROWS:
        last = cut.max_count - 1  # ONS leaves a count without a row as it is
    parts = ["pcv,ckey,pvalue\n"]
    for count in range(int(cut.zeros_kept), last + 1):
        for v, low, high in cut.row(count).intervals:
            parts += [f"{count},{key},{v}\n" for key in range(low, high)]
    return "".join(parts)


def notes(table: PTable, dialect: str) -> tuple[str, ...]:
    """What a file in this dialect does not carry, in sentences; empty where nothing is lost."""
    found = []
    last = table.rows[-ONS_CYCLE:] if len(table.rows) > ONS_CYCLE else table.rows[-1:]
    if dialect != "ons" and table.cycle > 1:
        found.append(
            f"Counts over {table.max_count} are served by the last {table.cycle} rows in turn; "
            f"software that reads {dialect} files uses the last row for all of them."
        )
    if dialect == "ons" and table.max_count == ONS_ROWS and table.cycle == 1 and len(set(last)) > 1:
        found.append(
            "Counts over 750 are served by the last row; ONS software goes back to rows 501 to 750."
        )
    if dialect != "sdctools" and any(v < -n for n, r in enumerate(table.rows) for v in r.weights):
        found.append("Some counts may become negative.")
    return tuple(found)


def _cut(table: PTable, dialect: str, keys: int | None) -> PTable:
    if keys is not None:
        check_keys(keys)
    elif table.keys in ONS_KEYS or (dialect == "cantabular" and table.key_bits is not None):
        keys = table.keys
    else:
        exact = [k for k in ONS_KEYS if table.exact_in(k)]
        if not exact:
            raise LawError(
                f"A p-table of {table.keys} keys cannot be written exactly for {dialect} with 256 "
                "or 4096 keys. Name the number of keys to cut it, and look at the loss."
            )
        keys = exact[0]
    if dialect == "ons" and keys > _MOST_ONS_KEYS:
        raise LawError(
            f"An ONS p-table has one line for each key, got {keys} keys. Use 256 or 4096."
        )
    return table.requantised(keys).simplest()


# ONS and Cantabular ------------------------------------------------------------------------------


def _read_keyed(text: str, dialect: str) -> PTable:
    rows, keys = read_keyed(text, _HEADS[dialect], ranges=dialect == "cantabular")
    counts = sorted(rows)
    if counts[0] > 1:
        raise LawError(f"The p-table has no row for count 1; its first is {counts[0]}.")
    gap = next((n for n, have in enumerate(counts, counts[0]) if n != have), None)
    if gap is not None:
        raise LawError(f"The p-table has no row for count {gap} and one for {counts[-1]}. Add it.")
    made = [rows[n] for n in counts]
    if counts[0] == 1:
        made.insert(0, Row((0,), (keys,)))
    if dialect == "cantabular":
        return PTable(keys, tuple(made), 1, "p-table (cantabular)")
    last = len(made) - 1
    if last > ONS_ROWS:
        raise LawError(
            f"An ONS p-table has counts up to {ONS_ROWS}, got {last}: rows beyond are never used."
        )
    if last < ONS_ROWS:
        return PTable(keys, (*made, Row((0,), (keys,))), 1, "p-table (ons)")
    cycle = ONS_CYCLE
    if all(row == made[-1] for row in made[-ONS_CYCLE:]):  # the last row serves all larger counts
        cycle = 1
    return PTable(keys, tuple(made), cycle, "p-table (ons)").simplest()


# sdcTools ----------------------------------------------------------------------------------------


def _columns(text: str) -> tuple[list[str], str]:
    first = text.lstrip("\ufeff").split("\n", 1)[0]
    separator = ";" if ";" in first else ","
    return [name.strip().strip('"').casefold() for name in first.split(separator)], separator


def _read_fractions(text: str) -> PTable:
    columns, separator = _columns(text)
    place = {name: columns.index(name) for name in columns}
    entries: dict[int, list[tuple[int, Fraction]]] = {}
    seen: set[tuple[int, int, str]] = set()
    decimals = _FEW_DECIMALS
    for number, line in enumerate(text.split("\n")[1:], 2):
        if not line.strip():
            continue
        cells = [cell.strip().strip('"') for cell in line.split(separator)]
        if len(cells) != len(columns):
            raise LawError(
                f"Line {number} of the p-table has {len(cells)} values, expected {len(columns)}."
            )
        count, result, v = (_whole(cells[place[name]], name, number) for name in "ijv")
        if count < 0:
            raise LawError(f"Line {number} of the p-table has count {count}; allowed is ≥ 0.")
        if result != count + v:
            raise LawError(
                f"Line {number} of the p-table has i = {count}, v = {v} and j = {result}; "
                "j must be i + v."
            )
        if "type" in place and cells[place["type"]] not in ("all", ""):
            raise LawError(
                f"Line {number} of the p-table is of type {cells[place['type']][:20]}; only tables "
                "for counts (type all) can be used."
            )
        upper, width = _bound(cells[place["p_int_ub"]], number)
        decimals = max(decimals, width)
        share, _ = _bound(cells[place["p"]], number)
        row = entries.setdefault(count, [])
        below = row[-1][1] if row else Fraction(0)
        low = below
        if "p_int_lb" in place:
            low, width = _bound(cells[place["p_int_lb"]], number)
            decimals = max(decimals, width)
        mark = (count, v, cells[place["p_int_ub"]])
        if mark in seen:
            raise LawError(f"Line {number} of the p-table gives row {count}, v = {v} twice.")
        seen.add(mark)
        if low != below:
            what = "leaves a gap after" if low > below else "overlaps"
            raise LawError(
                f"Line {number} of the p-table starts at {_plain(low)} and {what} {_plain(below)}: "
                f"the intervals of row {count} must follow one another."
            )
        if upper < low:
            raise LawError(
                f"Line {number} of the p-table ends at {_plain(upper)}, before its start "
                f"{_plain(low)}."
            )
        if abs(share - (upper - low)) > Fraction(2, 10**8):
            raise LawError(
                f"Line {number} of the p-table has p = {_plain(share)}, but its interval is "
                f"{_plain(upper - low)} wide."
            )
        row.append((v, upper))
    return _from_fractions(entries, decimals)


def _from_fractions(entries: dict[int, list[tuple[int, Fraction]]], decimals: int) -> PTable:
    if not entries:
        raise LawError("The p-table has no rows below its first line.")
    for count in range(max(entries) + 1):
        if count not in entries:
            if count == 0:
                entries[0] = [(0, Fraction(1))]
                continue
            raise LawError(
                f"The p-table has no row for count {count} and one for {max(entries)}. Add it."
            )
        total = entries[count][-1][1]
        if total != 1:
            raise LawError(
                f"Row {count} of the p-table must add up to 1, got {_plain(total)}. "
                "Check its last upper bound."
            )
    bounds = [upper for row in entries.values() for _, upper in row]
    keys = FRACTIONAL if decimals <= _FEW_DECIMALS else 10**_MANY_DECIMALS
    if decimals > _FEW_DECIMALS and all((b * 4096).denominator == 1 for b in bounds):
        keys = 4096
    rows = []
    for count in range(max(entries) + 1):
        at, widths = 0, []
        for v, upper in entries[count]:
            cut = int(upper * keys)
            widths.append((v, cut - at))
            at = cut
        rows.append(Row.of(widths))
    support = tuple(
        tuple(sorted({v for v, _ in entries[count]})) for count in range(max(entries) + 1)
    )
    return PTable(keys, tuple(rows), 1, "p-table (sdctools)", {}, support)


def _write_fractions(table: PTable, keys: int | None) -> str:
    if keys is not None:
        table = table.requantised(keys)
    digits = _FEW_DECIMALS
    if table.keys == 4096 or not table.exact_in(FRACTIONAL):
        digits = _MANY_DECIMALS
        if not table.exact_in(10**_MANY_DECIMALS):
            raise LawError(
                f"A p-table of {table.keys} keys cannot be written exactly in {digits} decimals. "
                "Name the number of keys: 100000000 for R and tau-Argus, 256 or 4096."
            )
    scaled = table.requantised(10**digits).simplest()
    width = max(len(str(v)) for row in scaled.rows for v in row.perturbations)
    width = max(width, 2)
    show: Callable[[int], str] = lambda part: f"{part // 10**digits}.{part % 10**digits:0{digits}d}"  # noqa: E731 - a name for a short formula
    lines = ["i;j;p;v;p_int_lb;p_int_ub"]
    for count, row in enumerate(scaled.rows):
        for v, low, high in row.intervals:
            lines.append(
                f"{count};{count + v};{show(high - low)};{v:>{width}};{show(low)};{show(high)}"
            )
    return "\n".join(lines) + "\n"


def _whole(text: str, name: str, line: int) -> int:
    if not WHOLE.fullmatch(text):
        raise LawError(
            f"Line {line} of the p-table has {name} = {text[:20]!r}; expected a whole number."
        )
    return int(text)


def _bound(text: str, line: int) -> tuple[Fraction, int]:
    """A bound and its decimals; digits that R's doubles left behind the twelfth are dropped."""
    try:
        value = Decimal(text)
        good = value.is_finite() and 0 <= value <= Decimal("1.0000001")
    except InvalidOperation:
        good = False
    if not good:
        raise LawError(
            f"Line {line} of the p-table has {text[:20]!r}; expected a number from 0 to 1."
        )
    decimals = max(0, -int(value.as_tuple().exponent))
    if decimals > _MANY_DECIMALS:
        near = round(value, _FEW_DECIMALS)
        if abs(near - value) > Decimal("1e-12"):
            raise LawError(
                f"Line {line} of the p-table has {text[:24]!r}; at most 12 decimals can be kept."
            )
        return Fraction(near), _FEW_DECIMALS
    return Fraction(value), decimals


def _plain(value: Fraction) -> str:
    return f"{float(value):.8f}".rstrip("0").rstrip(".")
