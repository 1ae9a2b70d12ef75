"""Whether a language says every sentence: the code and templates are read, and a file against them.

Sentences are found as the first arguments of `say` and `counted`, in Python and in templates, so they
must stand there as they are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from . import po_file
from .catalogue import plural_rule

PACKAGE = Path(__file__).parent.parent
_CALLS = {"say": 1, "counted": 2, "say.counted": 2}
"""What makes a sentence, and how many of its first arguments are texts."""
_PLACE = re.compile(r"\{(\w+)\}")
_OWN = "languages/"


@dataclass(frozen=True)
class Found:
    """A sentence in the code: English, its plural, and the file it stands in first."""

    english: str
    plural: str
    file: str

    @property
    def places(self) -> set[str]:
        """The names a translation must have."""
        return set(_PLACE.findall(self.plural or self.english))


def sentences(package: Path = PACKAGE) -> dict[str, Found]:
    """Every sentence of the code and its templates, in the order of files and lines."""
    found: dict[str, Found] = {}
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package).as_posix()
        if path.suffix not in (".py", ".html", ".jinja", ".xml", ".txt") or "__pycache__" in name:
            continue
        text = path.read_text("utf-8")
        if "say(" not in text and "counted(" not in text:
            continue
        calls = _python(text) if path.suffix == ".py" else _template(text)
        for line, texts in calls:
            if name.startswith(_OWN) and texts is None:
                continue
            if texts is None:
                raise InputError(
                    f"{name}, line {line}: a sentence must be written out where it is said; "
                    "put what changes into {names}."
                )
            english, plural = texts
            before = found.setdefault(english, Found(english, plural, name))
            if before.plural != plural:
                raise InputError(
                    f"{name}, line {line}: {english!r} has another plural in {before.file}."
                )
    return found


def _python(text: str) -> Iterator[tuple[int, tuple[str, str] | None]]:
    nodes = list(ast.walk(ast.parse(text)))
    imports = (node.module or "" for node in nodes if isinstance(node, ast.ImportFrom))
    if not any(module.split(".")[-1] in ("languages", "catalogue") for module in imports):
        return
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        if many := _CALLS.get(ast.unparse(call.func)):
            literal = [a.value for a in call.args[:many] if isinstance(a, ast.Constant)]
            yield call.lineno, _texts(many, literal)


def _template(text: str) -> Iterator[tuple[int, tuple[str, str] | None]]:
    from jinja2 import Environment, nodes

    for call in Environment(autoescape=True).parse(text).find_all(nodes.Call):
        of = getattr(call.node, "node", None)
        names = [
            getattr(of, "name", ""),
            getattr(call.node, "attr", ""),
            getattr(call.node, "name", ""),
        ]
        if many := _CALLS.get(".".join(name for name in names if name)):
            literal = [a.value for a in call.args[:many] if isinstance(a, nodes.Const)]
            yield call.lineno, _texts(many, literal)


def _texts(many: int, literal: Sequence[object]) -> tuple[str, str] | None:
    texts = [text for text in literal if isinstance(text, str)]
    return (texts[0], texts[1] if many == 2 else "") if len(texts) == many else None


def problems(written: po_file.PoFile, wanted: dict[str, Found]) -> Iterator[str]:
    """What is wrong with a language's file, one sentence each."""
    forms, _ = plural_rule(written)
    for english, one in wanted.items():
        if english not in written.entries:
            yield f"{written.name}: no entry for {english!r} ({one.file})."
    for english, entry in written.entries.items():
        where = f"{written.name}, line {entry.line}"
        if english not in wanted:
            yield f"{where}: {english!r} is said nowhere; remove it."
        elif entry.plural != wanted[english].plural:
            yield f"{where}: msgid_plural must be {wanted[english].plural!r}, got {entry.plural!r}."
        elif not entry.done:
            yield f"{where}: {english!r} is not translated" + (" (fuzzy)." if entry.fuzzy else ".")
        elif len(entry.forms) != (forms if entry.plural else 1):
            need = f"{forms} plural forms" if entry.plural else "one text"
            yield f"{where}: {english!r} needs {need}, got {len(entry.forms)}."
        else:
            yield from (f"{where}: {words}" for words in _wrong(entry, wanted[english]))


def _wrong(entry: po_file.Entry, one: Found) -> Iterator[str]:
    """Placeholders that are missing or unknown, and capitals and spaces that were lost."""
    for form in entry.forms:
        places = set(_PLACE.findall(form))
        # "one cell" may leave out the number it counts
        missing = one.places - places - ({"n"} if entry.plural else set())
        if missing:
            yield f"the translation of {one.english!r} has no {_braced(missing)}."
        if unknown := places - one.places:
            yield f"the translation of {one.english!r} has an unknown {_braced(unknown)}."
        if re.sub(_PLACE, "", form).count("{") or re.sub(_PLACE, "", form).count("}"):
            yield f"the translation of {one.english!r} has a brace that is no {{name}}."
        ends = [text != text.strip() for text in (form, one.english)]
        if ends[0] != ends[1]:
            yield f"the translation of {one.english!r} begins or ends with a space."


def _braced(names: Iterable[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))


def rewritten(path: Path, wanted: dict[str, Found]) -> str:
    """The file with an entry for every sentence, by source file; what is said nowhere is left out."""
    written = po_file.read(path)
    forms, _ = plural_rule(written)
    lines = ['msgid ""', 'msgstr ""']
    lines += [po_file.quoted(f"{name}: {value}\n") for name, value in written.header.items()]
    file = ""
    for one in sorted(wanted.values(), key=lambda one: one.file):
        lines.append("")
        if one.file != file:
            file = one.file
            lines.append(f"# {file}")
        entry = written.entries.get(one.english, po_file.Entry(one.english))
        many = forms if one.plural else 1
        texts = (entry.forms + [""] * many)[:many]
        if entry.fuzzy:
            lines.append("#, fuzzy")
        lines.append(f"msgid {po_file.quoted(one.english)}")
        if one.plural:
            lines.append(f"msgid_plural {po_file.quoted(one.plural)}")
            lines += [f"msgstr[{i}] {po_file.quoted(text)}" for i, text in enumerate(texts)]
        else:
            lines.append(f"msgstr {po_file.quoted(texts[0])}")
    return "\n".join(lines) + "\n"
