"""Files that people have and that are not read here: what each is, and how to make one that is."""

from __future__ import annotations

from pathlib import Path

from ..errors import DataError

_SPREADSHEET = (
    "is a spreadsheet of a kind that is not read. Save it as .xlsx, or its sheet as CSV (in Excel: "
    "Save As, CSV UTF-8), and give that file"
)
_STATISTICS = (
    "is a file of a statistics program, which is not read. Write it as Parquet or CSV there and give "
    "that file; in R: arrow::write_parquet(haven::read_{how}('{name}'), '{stem}.parquet')"
)
_PACKED = "is packed. Unpack it and give the CSV or Parquet file that is in it"
_ENDINGS = {
    **dict.fromkeys((".xlsb", ".xls", ".ods"), _SPREADSHEET),
    **{f".{how}": _STATISTICS for how in ("sav", "dta", "sas7bdat", "xpt")},
    **dict.fromkeys((".zip", ".gz", ".bz2", ".xz", ".zst", ".7z", ".tar"), _PACKED),
    ".rds": "is a file of R. Write it there as Parquet or CSV and give that file",
    ".json": "is JSON. Write it as CSV, a line for each record, and give that file",
}
_STARTS = {
    b"PK\x03\x04": "is a packed file or a spreadsheet, whatever its name says. If it is a workbook, "
    "give it a name in .xlsx; else unpack it and give the file that is in it",
    b"\xd0\xcf\x11\xe0": _SPREADSHEET,
    b"\x1f\x8b": _PACKED,
}
_SAS = {"sas7bdat": "sas"}


def refuse_other_files(path: Path, start: bytes) -> None:
    """One sentence for what is no CSV, Parquet or database, by its name or its first bytes."""
    ending = path.suffix.lower()
    words = _ENDINGS.get(ending) or next(
        (words for mark, words in _STARTS.items() if start.startswith(mark)), None
    )
    if words:
        how = ending.removeprefix(".")
        said = words.format(how=_SAS.get(how, how), name=path.name, stem=path.stem)
        raise DataError(f"{path.name} {said}.")
