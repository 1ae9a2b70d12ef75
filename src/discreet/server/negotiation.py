"""Which format and language a client wants: `?format=` and `?language=` win over headers."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable

from .. import formats
from ..core.description import Description
from ..core.domain import Text
from ..errors import InputError, RecipeError
from ..formats import Format
from .problems import Problem

_RANGE = re.compile(r"\s*([\w*+.-]+/[\w*+.-]+)\s*(?:;(.*))?")


def chosen_format(asked: str | None, accept: str | None) -> Format:
    """The format a client wants; JSON-stat where it does not say.

    >>> chosen_format(None, "text/csv;q=0.5, application/vnd.apache.parquet").name
    'parquet'
    """
    if asked:
        try:
            return formats.by_name(asked)
        except InputError as error:
            raise Problem(406, "format", error.message[:300]) from None
    ranges = _ranges(accept or "*/*")
    native = formats.by_name("json-stat")
    for wanted, quality in ranges:
        if quality <= 0:
            continue
        for made in (native, *formats.FORMATS.values()):
            if _matches(wanted, made.media_type):
                return made
    known = ", ".join(made.media_type for made in formats.FORMATS.values())
    raise Problem(
        406, "format", f"None of the accepted media types is offered; these are: {known}."
    )


def accepts(accept: str, media_type: str) -> bool:
    """Whether a header names a media type itself, as browsers name text/html.

    >>> accepts("text/html, */*;q=0.1", "text/html"), accepts("*/*", "text/html")
    (True, False)
    """
    return any(name == media_type and quality > 0 for name, quality in _ranges(accept))


def _ranges(accept: str) -> list[tuple[str, float]]:
    found = []
    for part in accept.split(",")[:50]:
        match = _RANGE.fullmatch(part)
        if match is None:
            continue
        quality = 1.0
        for parameter in (match[2] or "").split(";"):
            name, _, value = parameter.strip().partition("=")
            if name == "q":
                try:
                    quality = min(max(float(value), 0.0), 1.0)
                except ValueError:
                    quality = 0.0
        found.append((match[1].lower(), quality))
    return sorted(found, key=lambda item: -item[1])


def _matches(wanted: str, media_type: str) -> bool:
    kind, _, sub = media_type.partition("/")
    return wanted in (media_type, "*/*", f"{kind}/*") or (
        wanted == "application/vnd.json-stat+json" and sub == "json"
    )


def chosen_language(asked: str | None, accept: str | None, description: Description) -> str:
    """The language a client wants among those there are; empty: the data set's own.

    One asked for by name must be there; a header says wishes, of which none need be met.
    """
    if asked:
        return description.language_named(asked)
    for code in _languages(accept or ""):
        with contextlib.suppress(RecipeError):
            if found := description.language_named(code):
                return found
    return ""


def _languages(accept: str) -> list[str]:
    """The languages of an Accept-Language header, best first; those with q=0 are left out."""
    ranked = []
    for part in accept.split(",")[:20]:
        code, _, parameters = part.partition(";")
        name, _, value = parameters.strip().partition("=")
        try:
            quality = float(value) if name.strip() == "q" else 1.0
        except ValueError:
            quality = 0.0
        if quality > 0 and code.strip():
            ranked.append((code.strip(), quality))
    return [code for code, _ in sorted(ranked, key=lambda item: -item[1])]


def spoken(description: Description, language: str, texts: Iterable[Text] | None = None) -> str:
    """The languages its labels, or just these texts, are really in, as Content-Language says it.

    Where a text is not there in the wished language it is shown in its first one, which is then
    named as well. Empty where the description does not say its language.
    """
    if texts is not None:
        return joined(_used(description, language, texts), language)
    kept: dict[str, str] = vars(description).setdefault("_spoken", {})
    if language not in kept:
        kept[language] = joined(_used(description, language, description.texts()), language)
    return kept[language]


def _used(description: Description, language: str, texts: Iterable[Text]) -> set[str]:
    used = set()
    for text in texts:
        codes = [code for code, _ in text.by_language]
        shown = language if language in codes else codes[0] if codes else ""
        used.add(shown or description.language)
    return used


def joined(languages: Iterable[str], first: str = "") -> str:
    """Languages as one header; what a header cannot hold is left out."""
    codes = sorted(code.encode("ascii", "ignore").decode() for code in set(languages))
    codes.sort(key=lambda code: code != first)
    return ", ".join(code for code in codes if code)
