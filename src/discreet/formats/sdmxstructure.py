"""The structure of an SDMX-CSV file: an SDMX-ML 3.0 message that lies beside it.

It holds the dataflow that the file names, its data structure, one concept for each column, and a
code list for each variable and status: all that a reader needs to know which columns are
dimensions, that codes such as `01` are texts, and what each code means. Everything in it belongs
to the agency DISCREET and carries the file's own identifiers, so no registry is asked.

SDMX has no components without a dimension: the data structure of a single number is named and left
empty. The date of preparation that SDMX demands is always the same one, so the same table gives the
same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO
from xml.sax.saxutils import escape

from ..core.table import ProtectedTable, Status
from ..languages import ENGLISH, say
from .csvw import describe_number
from .flat import Flat, flatten
from .sdmxcsv import AGENCY, STATUS_CODES, TABLE_COLUMNS, VERSION, Columns, flow, name_columns

PREPARED = "1970-01-01T00:00:00Z"
"""When it was prepared: a fixed date, for a table is a function of its question, not of a clock."""

_SPACES = "http://www.sdmx.org/resources/sdmxml/schemas/v3_0"
_OBSERVATION_STATUS = {
    "A": say("Normal value"),
    "U": say("Low reliability"),
    "Q": say("Missing value; suppressed"),
    "O": say("Missing value"),
}
_CONFIDENTIALITY = {
    "F": say("Free (free for publication)"),
    "C": say("Confidential statistical information"),
    "N": say("Not for publication, restricted for internal use only"),
}
_CONCEPTS = {
    "OBS_STATUS": say("Observation status"),
    "CONF_STATUS": say("Confidentiality status"),
    "CELL_STATUS": say("Status of the cell"),
    "TITLE": say("Title"),
    "GUARANTEE": say("Guarantee"),
    "NOTE": say("Notes"),
    "CITATION": say("How to cite the table"),
    "QUESTION_HASH": say("Hash of the question"),
    "DATA_VERSION": say("Version of the data"),
    "POLICY_VERSION": say("Version of the policy"),
    "LAW": say("Digest of the law of the cells"),
}
_CODED = ("OBS_STATUS", "CONF_STATUS", "CELL_STATUS")
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def save(tables: Sequence[ProtectedTable], stream: BinaryIO) -> None:
    """Write the structure of one table's SDMX-CSV file."""
    stream.write(companion(tables[0], ""))


def companion(table: ProtectedTable, file_name: str) -> bytes:
    """The structure message as bytes; it names the table's dataflow, not the file."""
    return "".join(_Message(table).lines()).encode()


class _Message:
    """One structure message being written: the table, its columns, and the names they share."""

    def __init__(self, table: ProtectedTable) -> None:
        self.table = table
        self.flat: Flat = flatten(table)
        self.columns: Columns = name_columns(self.flat)
        self.id = flow(table)
        self.language = table.layout.language or ENGLISH

    def lines(self) -> Iterator[str]:
        """The message, line by line."""
        yield '<?xml version="1.0" encoding="UTF-8"?>\n'
        yield (
            f'<mes:Structure xmlns:mes="{_SPACES}/message" xmlns:str="{_SPACES}/structure" '
            f'xmlns:com="{_SPACES}/common">\n'
        )
        yield (
            f"<mes:Header><mes:ID>{self.id}</mes:ID><mes:Test>false</mes:Test>"
            f"<mes:Prepared>{PREPARED}</mes:Prepared>"
            f'<mes:Sender id="{AGENCY}"/></mes:Header>\n<mes:Structures>\n'
        )
        yield from self._code_lists()
        yield from self._concepts()
        yield from self._data_structure()
        yield "<str:Dataflows>\n"
        yield self._opening("Dataflow", self.id, self.table.title)
        yield f"<str:Structure>{self._urn('datastructure.DataStructure')}</str:Structure>"
        yield "</str:Dataflow>\n</str:Dataflows>\n"
        yield "</mes:Structures>\n</mes:Structure>\n"

    def _code_lists(self) -> Iterator[str]:
        yield "<str:Codelists>\n"
        for axis, name, codes in zip(
            self.flat.axes, self.columns.variables, self.columns.codes, strict=True
        ):
            yield from self._code_list(name, axis.label, zip(codes, axis.labels, strict=True))
        letters: dict[str, str] = {each.letter: each.meaning for each in Status if each.letter}
        listed = (_used(_OBSERVATION_STATUS, 0), _used(_CONFIDENTIALITY, 1), letters)
        for name, codes_and_words in zip(_CODED, listed, strict=True):
            yield from self._code_list(name, _CONCEPTS[name], codes_and_words.items())
        yield "</str:Codelists>\n"

    def _code_list(self, name: str, label: str, codes: Iterable[tuple[str, str]]) -> Iterator[str]:
        yield self._opening("Codelist", self._list(name), label)
        for code, words in codes:
            yield f'<str:Code id="{code}">{self._name(words or code)}</str:Code>\n'
        yield "</str:Codelist>\n"

    def _concepts(self) -> Iterator[str]:
        flat, columns = self.flat, self.columns
        named: dict[str, str] = {}
        for axis, name, label in zip(flat.axes, columns.variables, columns.labels, strict=True):
            named[name] = axis.label
            named[label] = say("{label}: label", label=axis.label)
        named["OBS_VALUE"] = flat.measure_words
        named |= {
            column: describe_number(name, flat)
            for name, column in zip(flat.numbers, columns.numbers, strict=True)
        }
        yield "<str:ConceptSchemes>\n"
        yield self._opening("ConceptScheme", self.id, self.table.title)
        for name, words in (named | _CONCEPTS).items():
            yield f'<str:Concept id="{name}">{self._name(words)}</str:Concept>\n'
        yield "</str:ConceptScheme>\n</str:ConceptSchemes>\n"

    def _data_structure(self) -> Iterator[str]:
        yield "<str:DataStructures>\n"
        yield self._opening("DataStructure", self.id, self.table.title)
        if self.flat.axes:
            yield from self._components()
        yield "</str:DataStructure>\n</str:DataStructures>\n"

    def _components(self) -> Iterator[str]:
        columns = self.columns
        yield '<str:DataStructureComponents>\n<str:DimensionList id="DimensionDescriptor">\n'
        for position, name in enumerate(columns.variables, start=1):
            yield (
                f'<str:Dimension id="{name}" position="{position}">{self._concept(name)}'
                f"{self._coded(name)}</str:Dimension>\n"
            )
        yield '</str:DimensionList>\n<str:AttributeList id="AttributeDescriptor">\n'
        for name in _CODED:
            required = name != "CELL_STATUS"
            yield self._attribute(name, self._coded(name), "<str:Observation/>", required=required)
        for name, column in zip(self.flat.numbers, columns.numbers, strict=True):
            whole = self.flat.numbers[name].dtype.kind == "i"
            yield self._attribute(column, _typed("Long" if whole else "Double"))
        for variable, label in zip(columns.variables, columns.labels, strict=True):
            along = f"<str:Dimension>{variable}</str:Dimension>"
            yield self._attribute(label, _typed("String"), along)
        for name in TABLE_COLUMNS:
            # Of the whole table, and so of the first row alone; sdmx1 cannot read <str:Dataflow/>.
            yield self._attribute(name, _typed("String"))
        yield '</str:AttributeList>\n<str:MeasureList id="MeasureDescriptor">\n'
        yield (
            f'<str:Measure id="OBS_VALUE" usage="optional">{self._concept("OBS_VALUE")}'
            f"{_typed('Long')}</str:Measure>\n</str:MeasureList>\n"
        )
        yield "</str:DataStructureComponents>\n"

    def _attribute(
        self, name: str, kind: str, along: str = "<str:Observation/>", *, required: bool = False
    ) -> str:
        usage = "mandatory" if required else "optional"
        return (
            f'<str:Attribute id="{name}" usage="{usage}">{self._concept(name)}{kind}'
            f"<str:AttributeRelationship>{along}</str:AttributeRelationship></str:Attribute>\n"
        )

    def _opening(self, kind: str, name: str, words: str) -> str:
        """The start of something maintained: all of it is DISCREET's, in the form's version."""
        return (
            f'<str:{kind} id="{name}" agencyID="{AGENCY}" version="{VERSION}">'
            f"{self._name(words or name)}\n"
        )

    def _name(self, words: str) -> str:
        text = escape(_ILLEGAL.sub("\ufffd", self.table.tells(words)))
        return f'<com:Name xml:lang="{self.language}">{text}</com:Name>'

    def _list(self, name: str) -> str:
        return f"{self.id}_{name}"

    def _urn(self, kind: str, name: str = "", item: str = "") -> str:
        last = f".{item}" if item else ""
        return f"urn:sdmx:org.sdmx.infomodel.{kind}={AGENCY}:{name or self.id}({VERSION}){last}"

    def _concept(self, name: str) -> str:
        where = self._urn("conceptscheme.Concept", item=name)
        return f"<str:ConceptIdentity>{where}</str:ConceptIdentity>"

    def _coded(self, name: str) -> str:
        where = self._urn("codelist.Codelist", self._list(name))
        return (
            "<str:LocalRepresentation>"
            f"<str:Enumeration>{where}</str:Enumeration></str:LocalRepresentation>"
        )


def _used(codes: Mapping[str, str], which: int) -> dict[str, str]:
    """SDMX's codes as far as a cell of ours can have them, in the order they are explained."""
    ours = {pair[which] for pair in STATUS_CODES.values()}
    return {code: words for code, words in codes.items() if code in ours}


def _typed(kind: str) -> str:
    return f'<str:LocalRepresentation><str:TextFormat textType="{kind}"/></str:LocalRepresentation>'
