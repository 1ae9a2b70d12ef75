"""Words that tell what a column or a code is, and the order people expect categories in."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

LABEL_ENDS = (
    "_label", "_name", "_desc", "_description", "_text", " label", " name", ".label", "label",
)  # fmt: skip

MISSING_WORDS = frozenset(
    [
        "na", "n/a", "nan", "null", "none given", "unknown", "unk", "missing", "not stated",
        "not known", "not available", "not given", "not recorded", "no answer", "refused",
        "don't know", "dont know", "unspecified", "undefined", "?", ".", "..", "-", "--",
        "not-stated", "not_stated", "not-known", "not_known", "unknown/missing", "_u",
    ]
)  # fmt: skip

READ_AS_MISSING = frozenset(["na", "n/a", "nan", "null"])
"""Codes that pandas and R take for no value at all when they read a CSV file."""

_ID = re.compile(
    r"(^|[^a-z])(id|ids|uuid|guid|pid|record ?(no|nr|number)|serial(no)?|person|respondent|case)$"
)
_WEIGHT = re.compile(
    r"(^|[^a-z])(weights?|wgt|wt|wgts|fnlwgt|pweight|hweight|gewicht|poids)([^a-z]|$)|^w$"
)
_PEOPLE = (
    "patient", "patienten", "pat", "person", "personen", "personal", "pers", "member", "customer",
    "cust", "client", "citizen", "resident", "respondent", "participant", "subject", "individual",
    "indiv", "insured", "insuree", "beneficiary", "enrollee", "enrolee", "subscriber", "employee",
    "staff", "worker", "student", "pupil", "learner", "user", "account", "card", "holder",
    "policyholder", "passenger", "voter", "taxpayer", "driver", "donor", "claimant", "tenant",
    "inmate", "veteran", "child", "mother", "nhs", "nhsno", "ssn", "sin", "nino", "mrn", "upi",
    "chi", "hcn", "bsn", "cpr", "ssin", "niss", "pesel", "hetu", "cpf", "dni", "nie", "nif", "nir",
    "ipp", "ahv", "avs", "svnr", "kvnr", "pnr", "personnummer", "fnr", "fodselsnummer", "rijksnr",
    "pseudonym", "pseudo", "psn", "patiente", "kunde", "kunden", "mitglied", "mitglieds",
    "versicherte", "versicherten", "schueler", "buerger", "bewohner", "einwohner", "mitarbeiter",
    "studierende", "teilnehmer", "proband", "probanden", "personne", "individu", "assure",
    "beneficiaire", "adherent", "eleve", "etudiant", "salarie", "usager", "allocataire",
    "paciente", "persona", "cliente", "usuario", "miembro", "asegurado", "afiliado", "alumno",
    "paziente", "assistito", "utente", "iscritto", "codicefiscale", "pessoa", "persoon", "klant",
    "lid", "verzekerde", "deelnemer", "kund", "medlem", "borger", "pacjent", "osoba", "klient",
    "potilas", "henkilo", "asiakas", "pacient", "osoby",
)  # fmt: skip
_EVENTS = (
    "stay", "visit", "admission", "adm", "discharge", "episode", "spell", "encounter",
    "appointment", "referral", "procedure", "operation", "prescription", "specimen", "sample",
    "test", "event", "incident", "claim", "order", "transaction", "trans", "trx", "txn", "payment",
    "purchase", "invoice", "bill", "booking", "trip", "journey", "call", "session", "ticket",
    "contract", "household", "hh", "family", "dwelling", "fall", "faelle", "aufenthalt",
    "aufenthalts", "besuch", "besuchs", "behandlung", "behandlungs", "einweisung", "auftrag",
    "auftrags", "bestell", "bestellung", "rechnung", "rechnungs", "buchung", "buchungs",
    "haushalt", "haushalts", "sejour", "visite", "hospitalisation", "consultation", "commande",
    "facture", "menage", "foyer", "estancia", "visita", "ingreso", "episodio", "pedido", "factura",
    "hogar", "ricovero", "opname", "bezoek", "bestelling", "huishouden", "vardtillfalle",
)  # fmt: skip
_NUMBERS = (
    "id", "ids", "no", "nr", "num", "number", "nummer", "numero", "n", "key", "code", "hash", "ref",
    "identifier", "identifiant", "kennung", "uid", "uuid", "pseudonym",
)  # fmt: skip

_IDS = frozenset(
    [
        "id", "ids", "uid", "uuid", "guid", "pid", "hash", "key", "identifier", "identifiant",
        "kennung", "pseudonym", "pseudo", "psn",
    ]
)  # fmt: skip
_ITSELF = _IDS - {"hash", "key"} | frozenset(
    [
        "caseid", "mergeid", "xwaveid", "pubid", "pidp", "cpsidp", "hhidpn", "hhid", "hidp", "idhh",
        "mrn", "ssn", "bsn", "cpr", "nhsno", "vsnr", "svnr", "kvnr", "personnummer",
    ]
)  # fmt: skip
"""Names of ids that need no other word, some from the panels of many countries."""
_COUNTS = frozenset(["no", "nr", "num", "number", "nummer", "numero", "ref"])
_AGE = re.compile(r"(?<![a-zà-ÿ])(age|alter|âge|edad|leeftijd)(?![a-zà-ÿ])", re.IGNORECASE)


def _numbered(words: tuple[str, ...]) -> re.Pattern[str]:
    """A word of these by itself, or grown together with a word for number: patientnr."""
    return re.compile(rf"({'|'.join(words)})(e?[ns])?({'|'.join(_NUMBERS)})?")


_PERSON, _EVENT = _numbered(_PEOPLE), _numbered(_EVENTS)
_PLACES = frozenset(
    [
        "region", "country", "county", "ccg", "icb", "lad", "msoa", "lsoa", "ward", "district",
        "state", "postcode", "zip", "municipality", "area", "nuts", "nuts1", "nuts2", "nuts3",
        "canton", "province", "departement", "department", "commune", "city", "town", "borough",
        "block", "tract", "geography", "geo", "parish", "constituency", "sa1", "sa2", "sa3", "sa4",
    ]
)  # fmt: skip
_TIMES = frozenset(
    ["month", "year", "quarter", "week", "weekday", "day", "date", "period", "season"]
)
_NEGATIVE = (-9, -8, -7, -99, -98, -97, -999, -998, -997, -1)
_ORDERED = (
    ["january", "february", "march", "april", "may", "june", "july", "august", "september",
     "october", "november", "december"],
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"],
    ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
)  # fmt: skip


def is_id_name(name: str) -> bool:
    """Whether a column's name says that it names the unit."""
    return bool(_ID.search(_spaced(name)))


def is_person_name(name: str) -> bool:
    """Whether a column's name says that it names people, in a common language.

    >>> [is_person_name(n) for n in ("PatientID", "pat_id", "nhs number", "kundennr", "N° patient")]
    [True, True, True, True, True]
    >>> [is_person_name(n) for n in ("patient_age", "member_state", "hospital_id", "persistent")]
    [False, False, False, False]
    """
    return _names(name, _PERSON)


def is_event_name(name: str) -> bool:
    """Whether a column's name says that it names what one person may have several of, or share.

    >>> [is_event_name(n) for n in ("fall_id", "StayNo", "household id", "test_result", "id")]
    [True, True, True, False, False]
    """
    return _names(name, _EVENT)


def _names(name: str, kind: re.Pattern[str]) -> bool:
    """Whether a name speaks of this kind and ends in it or in a word for number."""
    words = re.findall(r"[a-z]+", _ascii(_spaced(name)))
    told = [word for word in words if kind.fullmatch(word)]
    return bool(told) and (words[-1] in told or words[-1] in _NUMBERS)


def is_id_by_name(name: str) -> bool:
    """Whether a name alone says that a column holds ids, however few they are.

    >>> [is_id_by_name(n) for n in ("patient_id", "ID", "MergeID", "pseudonym", "hhid")]
    [True, True, True, True, True]
    >>> [is_id_by_name(n) for n in ("hospital_id", "child_no", "worker_code", "person", "paid")]
    [False, False, False, False, False]
    """
    words = re.findall(r"[a-z]+", _ascii(_spaced(name)))
    whole = "".join(words)
    if whole in _ITSELF:
        return True
    ids = "|".join(sorted(_IDS))
    grown = re.fullmatch(rf"({'|'.join(_PEOPLE)})(e?[ns])?({ids})", words[-1]) if words else None
    return bool(words) and is_person_name(name) and (words[-1] in _IDS or bool(grown))


def is_number_by_name(name: str) -> bool:
    """Whether a name says that a column numbers people, or perhaps counts them.

    >>> [is_number_by_name(n) for n in ("Kundennr", "patient no", "num_child", "worker_code")]
    [True, True, True, False]
    """
    words = re.findall(r"[a-z]+", _ascii(_spaced(name)))
    told = any(word in _COUNTS for word in words)
    grown = any(re.fullmatch(rf".+({'|'.join(sorted(_COUNTS))})", word) for word in words)
    return bool(words) and (told or grown) and bool(set(filter(_PERSON.fullmatch, words)))


def is_weight_name(name: str) -> bool:
    """Whether a column's name says that it is a survey weight."""
    return bool(_WEIGHT.search(_spaced(name)))


def is_geography(name: str) -> bool:
    """Whether a column's name says that it holds places."""
    return bool(set(re.findall(r"[a-z0-9]+", _spaced(name))) & _PLACES)


def is_age(name: str) -> bool:
    """Whether a column is called after ages.

    >>> is_age("age_at_death"), is_age("Alter"), is_age("village")
    (True, True, False)
    """
    return bool(_AGE.search(name))


def is_time(name: str) -> bool:
    """Whether a column's name says that it holds times."""
    words = re.findall(r"[a-z0-9]+", _spaced(name))
    return bool(words) and words[-1] in _TIMES and "per" not in words


def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold()


def pretty(name: str) -> str:
    """A column's name as a label.

    >>> pretty("marital-status"), pretty("income>50K"), pretty("ccg")
    ('Marital status', 'Income>50K', 'CCG')
    """
    words = re.sub(r"[_\s.-]+", " ", name).strip()
    if re.fullmatch(r"[b-df-hj-np-tv-xz0-9]{2,5}", words):
        return words.upper()  # an abbreviation: no vowel in it
    return words[:1].upper() + words[1:] if words else name


def safe_names(columns: Sequence[str]) -> dict[str, str]:
    """A name for each column: letters, digits and _; no two alike.

    >>> safe_names(["income>50K", "2nd", "Sex", "sex "])
    {'income>50K': 'income_50k', '2nd': 'v_2nd', 'Sex': 'sex', 'sex ': 'sex_2'}
    """
    names: dict[str, str] = {}
    used: set[str] = set()
    for column in columns:
        name = re.sub(r"[^a-z0-9]+", "_", _ascii(column).casefold()).strip("_")[:50] or "column"
        if not name[0].isalpha():
            name = f"v_{name}"
        number, unique = 2, name
        while unique in used:
            unique, number = f"{name}_{number}", number + 1
        used.add(unique)
        names[column] = unique
    return names


_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L"}
)


def _ascii(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text.translate(_LETTERS))
    return parts.encode("ascii", "ignore").decode()


def in_order(codes: Sequence[str]) -> list[str]:
    """Codes as people expect them: months and days by the calendar, numbers by size.

    >>> in_order(["10", "9", "85+", "1-14", "0"]), in_order(["Mar", "Jan"])
    (['0', '1-14', '9', '10', '85+'], ['Jan', 'Mar'])
    """
    folded = {code.casefold() for code in codes}
    for order in _ORDERED:
        if folded <= set(order):
            return sorted(codes, key=lambda code: order.index(code.casefold()))
    return sorted(codes, key=_natural)


def _natural(code: str) -> tuple[object, ...]:
    if re.fullmatch(r"-\d+", code):
        return ((0, -int(code[1:])),) if len(code) < 18 else ((0, 0),)
    under = re.match(r"\s*(<|under|below|less than|up to)", code, re.IGNORECASE)
    lead: tuple[object, ...] = ((-1, 0),) if under else ()
    return lead + tuple(
        (1, int(part)) if part.isdigit() else (2, part.casefold())
        for part in re.findall(r"[0-9]{1,18}|[^0-9]+", code)
    )


def missing_codes(codes: Sequence[str], labels: Mapping[str, str]) -> list[str]:
    """The codes that mean missing, by their words or as numbers.

    >>> missing_codes(["NA", "1", "x"], {"x": "unknown"}), missing_codes(["NA"], {"NA": "Namibia"})
    (['NA', 'x'], [])
    """
    said = {code: (labels.get(code) or code).casefold() for code in codes}
    missing = [code for code in codes if said[code] in MISSING_WORDS]
    return missing + [code for code in missing_numbers(codes) if code not in missing]


def missing_numbers(codes: Sequence[str]) -> list[str]:
    """Numbers that stand for missing: -9 among what is never negative, 99 or 999 far above the rest.

    >>> missing_numbers(["1", "2", "3", "-9"]), missing_numbers(["1", "2", "99"])
    (['-9'], ['99'])
    >>> missing_numbers([str(n) for n in range(100)]), missing_numbers(["f", "m", "-9"])
    ([], ['-9'])
    """
    numbers = [int(code) for code in codes if re.fullmatch(r"-?\d{1,9}", code)]
    usual = [number for number in numbers if number not in _NEGATIVE]
    rest = [code for code in codes if code not in map(str, _NEGATIVE)]
    if not rest or (usual and min(usual) < 0):
        return []
    missing = [str(n) for n in numbers if n in _NEGATIVE]
    if len(numbers) < len(codes) or len(numbers) < 3:
        return missing
    for nines in (99, 999, 9999):
        below = [number for number in usual if number != nines]
        if nines in numbers and below and max(below) * 2 < nines:
            missing.append(str(nines))
    return missing


def perhaps_missing(codes: Sequence[str]) -> list[str]:
    """Codes that stand for missing in many files and for a category in others: 9 after 1 and 2.

    >>> perhaps_missing(["1", "2", "9"]), perhaps_missing(["A", "B", "99"]), perhaps_missing(["8", "9"])
    (['9'], ['99'], [])
    """
    numbers = sorted(int(code) for code in codes if re.fullmatch(r"\d{1,5}", code))
    missing = []
    for nines in (9, 99, 999, 9999):
        below = [number for number in numbers if number < nines]
        last = str(nines) in codes and nines == numbers[-1]
        if last and (below[-1] + 1 < nines if below else len(codes) > 1):
            missing.append(str(nines))
    return missing
