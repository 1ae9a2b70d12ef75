"""Which format and language a client wants: `?format=` and `?language=` win over headers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from fastapi import Request

from .. import formats
from ..core.description import Description
from ..core.text import Text
from ..errors import InputError, RecipeError
from ..formats import Format, views
from ..languages import ENGLISH, known, language_of, one_of_several, say
from .problems import Problem

VARY = "Accept, Accept-Language, Authorization, Cookie"

BYTES = "application/octet-stream"
"""Any format as bytes, for clients that would take a file for text; `format` says which it is."""


def sent_as(request: Request | None, media_type: str) -> str:
    """The media type a file is sent under: its own, or bytes where the client asks for bytes."""
    accept = "" if request is None else request.headers.get("accept", "")
    return BYTES if BYTES in accept and accepts(accept, BYTES) else media_type


def documented_files(*kinds: str | Format) -> dict[str, dict[str, object]]:
    """The content of an answer in the OpenAPI document: objects, texts, and bytes as bytes."""
    content: dict[str, dict[str, object]] = {}
    for kind in kinds:
        name = kind if isinstance(kind, str) else kind.media_type
        if name == BYTES:
            content[name] = {"schema": {"type": "string", "format": "binary"}}
        elif name == "application/json":
            content[name] = {"schema": {"type": "object"}}
        elif isinstance(kind, Format) and kind.is_text:
            content[name] = {"schema": {"type": "string"}}
        else:
            content[name] = {}  # 3.1: a media type of bytes has no schema
    return content


def chosen_format(asked: str | None, accept: str | None) -> Format:
    """The format a client wants; JSON-stat where it does not say.

    >>> chosen_format(None, "text/csv;q=0.5, application/vnd.apache.parquet").name
    'parquet'
    """
    if asked:
        if view := views.VIEWS.get(asked.strip().casefold()):
            return view
        try:
            return formats.by_name(asked)
        except InputError as error:
            raise Problem(406, "format", error.message[:300]) from None
    offered = (formats.by_name("json-stat"), *formats.FORMATS.values())
    for media_range in _by_quality(accept or "*/*"):
        for form in offered:
            if _matches(media_range.lower(), form.media_type):
                return form
    known = ", ".join(form.media_type for form in formats.FORMATS.values())
    raise Problem(
        406, "format", f"None of the accepted media types is offered; these are: {known}."
    )


def accepts(accept: str, media_type: str) -> bool:
    """Whether a header names a media type itself, as browsers name text/html.

    >>> accepts("text/html, */*;q=0.1", "text/html"), accepts("*/*", "text/html")
    (True, False)
    """
    return media_type in map(str.lower, _by_quality(accept))


def accepted_languages(header: str) -> list[str]:
    """The languages an Accept-Language header wishes for, best first.

    >>> accepted_languages("en;q=0.5, de-AT")
    ['de-AT', 'en']
    """
    return _by_quality(header)


def _by_quality(header: str) -> list[str]:
    """What an Accept or Accept-Language header names, best first; what has q=0 is left out."""
    ranked = []
    for part in header.split(",")[:50]:
        name, *parameters = (word.strip() for word in part.split(";"))
        quality = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip() == "q":
                try:
                    quality = min(float(value), 1.0)
                except ValueError:
                    quality = 0.0
        if name and quality > 0:
            ranked.append((name, quality))
    return [name for name, _ in sorted(ranked, key=lambda item: -item[1])]


def _matches(media_range: str, media_type: str) -> bool:
    kind, _, sub = media_type.partition("/")
    return media_range in (media_type, "*/*", f"{kind}/*") or (
        media_range == "application/vnd.json-stat+json" and sub == "json"
    )


def chosen_language(asked: str | None, accept: str | None, description: Description) -> str:
    """The language a client wants among those there are, else the data set's own; empty: not said.

    One asked for by name must be there; a header says wishes, of which none need be met. A language
    that only sentences are in is given where labels stay as they would be without it.
    """
    if asked:
        return description.language_named(asked)
    wished = []
    for code in _by_quality(accept or ""):
        if code == "*":
            break
        with contextlib.suppress(RecipeError):
            wished.append(description.language_named(code))
    labels = [code for code in wished if code in description.languages]
    best = labels[0] if labels else description.own_language
    for code in wished:
        if code == best or spoken(description, code) == spoken(description, best):
            return code
    return best


def require_language(asked: str, descriptions: Iterable[Description]) -> None:
    """Refuse a language asked for of several data sets that is there in none of them."""
    meant = {asked.casefold(), asked.casefold().partition("-")[0]}
    if not asked or not meant.isdisjoint(known()):
        return
    codes = dict.fromkeys(code for one in descriptions for code in one.languages)
    if meant.isdisjoint(code.casefold() for code in codes):
        raise RecipeError(
            say(
                "No data set is available in the language {asked}. Choose {there}.",
                asked=repr(asked[:20]),
                there=one_of_several(codes | dict.fromkeys(known())),
            )
        )


def reader_language(request: Request) -> str:
    """The language sentences are said in to whoever asks: as the answer, else as he wishes.

    What a route found out (`request.state.language`) comes first, then the address, then the header.
    """
    wishes = [getattr(request.state, "language", ""), request.query_params.get("language", "")]
    accepted = ",".join(request.headers.getlist("accept-language"))
    for code in (*wishes, *_by_quality(accepted)):
        if code and (code.casefold().startswith(ENGLISH) or language_of(code) != ENGLISH):
            return language_of(code)
    return ENGLISH


def spoken(description: Description, language: str, texts: Iterable[Text] | None = None) -> str:
    """The languages its labels, or just these texts, are really in, as Content-Language says it.

    Where a text is not there in the wished language it is shown in its first one, which is then
    named as well. Empty where the description does not say its language.
    """
    if texts is not None:
        return joined(_used(description, language, texts), language)
    by_language: dict[str, str] = vars(description).setdefault("_spoken", {})
    if language not in by_language:
        used = _used(description, language, description.texts())
        by_language[language] = joined(used, language)
    return by_language[language]


def _used(description: Description, language: str, texts: Iterable[Text]) -> set[str]:
    used = set()
    for text in texts:
        codes = [code for code, _ in text.by_language]
        shown = language if language in codes else codes[0] if codes else ""
        used.add(shown or description.language)
    return used


def spoken_in(languages: str) -> dict[str, str]:
    """What an answer's texts are in, and that another client may get them in another language."""
    return {"Vary": VARY} | ({"Content-Language": languages} if languages else {})


def joined(languages: Iterable[str], first: str = "") -> str:
    """Languages as one header; what a header cannot hold is left out."""
    codes = sorted(code.encode("ascii", "ignore").decode() for code in set(languages))
    codes.sort(key=lambda code: code != first)
    return ", ".join(code for code in codes if code)
