"""What of a table is asked for, and the file it is answered with."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from ... import formats
from ...core.table import ProtectedTable
from ...errors import InputError
from ..negotiation import sent_as
from .selection import cut, split
from .shapes import FORMATS, JSON_STAT, PARAMETERS, SelectionForm
from .shared_tables import as_json_stat, as_table, found, levels_of, periods_of

_SEPARATORS = {"separatortab": "\t", "separatorspace": " ", "separatorsemicolon": ";"}
_TEXTS = {"usecodes": ("codes",), "usetexts": ("texts",), "usecodesandtexts": ("codes", "texts")}


@dataclass(frozen=True)
class Asked:
    """What of a table is asked for: codes or expressions, and code lists, by dimension."""

    codes: Mapping[str, list[str]] = field(default_factory=dict)
    code_lists: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, request: Request) -> Asked:
        """What the parameters `valuecodes[…]` and `codelist[…]` of an address say."""
        codes: dict[str, list[str]] = {}
        code_lists: dict[str, str] = {}
        for key, value in request.query_params.multi_items():
            if (name := _inside("valuecodes", key)) is not None:
                codes.setdefault(name, []).extend(split(value))
            elif (name := _inside("codelist", key)) is not None:
                code_lists[name] = value
        for name, parts in codes.items():
            if not parts:
                raise InputError(
                    f"The selection of {name[:60]} holds no code. Select one or more, or *."
                )
        return cls(codes, code_lists)

    @classmethod
    def posted(cls, selection: Sequence[SelectionForm]) -> Asked:
        """What a body says; a variable without codes is left out."""
        codes: dict[str, list[str]] = {}
        code_lists: dict[str, str] = {}
        for part in selection:
            if part.variableCode in codes:
                raise InputError(f"{part.variableCode[:60]!r} is selected twice. Select it once.")
            codes[part.variableCode] = list(part.valueCodes)
            code_lists[part.variableCode] = part.codelist or ""
        return cls(codes, code_lists)


def _inside(parameter: str, key: str) -> str | None:
    """The variable of a `parameter[variable]`; None where it is another parameter."""
    if not key.casefold().startswith(parameter):
        return None
    if not re.fullmatch(r"\[.+\]", key[len(parameter) :], re.DOTALL):
        raise InputError(f"{parameter} names a variable: {parameter}[sex]=…, got {key[:60]!r}.")
    return key[len(parameter) + 1 : -1]


def answer(
    request: Request,
    table: str,
    lang: str,
    asked: Asked,
    output: str = JSON_STAT,
    parameters: Sequence[str] | None = None,
) -> Response:
    """The table, or the part that is asked for, as a file of a format."""
    form = FORMATS.get(output.casefold())
    if form is None:
        raise InputError(
            f"Here tables come as {', '.join(FORMATS)}, got outputFormat={output[:40]!r}. Choose "
            "one of them."
        )
    service, asker = request.app.state.service, request.state.asker
    with found(service, asker, table) as shown:
        levels = levels_of(shown, asked.code_lists)
        whole = as_json_stat(shown, lang, request, levels)
        part = cut(whole, asked.codes, periods_of(shown, levels))
    if output.casefold() != JSON_STAT:
        told = formats.by_name(form)
        headers = {"Content-Disposition": f'attachment; filename="{table}{told.extension}"'}
        body = _written(as_table(part), form, parameters or ())
        return Response(body, 200, headers, sent_as(request, told.media_type))
    part["extension"] = {n: v for n, v in part["extension"].items() if n != "layout"}
    return JSONResponse(part)


def _written(table: ProtectedTable, form: str, parameters: Sequence[str]) -> bytes:
    """The file; of CSV the separator and which of codes and texts it holds can be chosen."""
    words = [word.strip(" []") for text in parameters for word in text.split(",")]
    said = [word.casefold() for word in words]
    for word, one in zip(words, said, strict=True):
        if one not in {name.casefold() for name in PARAMETERS}:
            raise InputError(f"outputFormatParams are {', '.join(PARAMETERS)}, got {word[:40]!r}.")
    for group in (_SEPARATORS, _TEXTS):
        if len({one for one in said if one in group}) > 1:
            raise InputError(f"Of {', '.join(group)} only one can be said in outputFormatParams.")
    body = formats.to_bytes(table, form)
    separator = next((_SEPARATORS[one] for one in said if one in _SEPARATORS), ",")
    wanted = next((_TEXTS[one] for one in said if one in _TEXTS), ("codes", "texts"))
    if form != "csv" or (separator == "," and len(wanted) == 2):
        return body
    head, *rows = csv.reader(io.StringIO(body.decode(), newline=""))
    axes = 2 * len(table.domain.axes)
    kept = [i for i in range(len(head)) if i >= axes or ("codes", "texts")[i % 2] in wanted]
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator)
    writer.writerows([row[i] for i in kept] for row in (head, *rows))
    return out.getvalue().encode()
