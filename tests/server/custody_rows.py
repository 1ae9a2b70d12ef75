"""What readers ask of routes that are for custodians, and of releases, requests and saved queries.

Names in braces are filled in from what custodians made; `none` is asked beside each, because a
refusal must not tell the two apart.
"""

from __future__ import annotations

from itertools import product
from typing import Any

DATA = "/api/v1/datasets/people"
RULES = {"rules": {"max_variables": "2"}}
WISHES = {"within": 10, "tables": 2, "risk": [["10%", "25%"]], "most": 30}
CHOSEN = [{"variableCode": "sex", "valueCodes": ["*"]}]

Rows = dict[str, list[tuple[str, Any]]]


def _each(pattern: str, body: Any = None, **names: str) -> list[tuple[str, Any]]:
    """The address with every name as it was made and as nobody has it."""
    choices = [
        [(part, filled) for filled in (f"{{{name}}}", "none")] for part, name in names.items()
    ]
    found = []
    for chosen in product(*choices):
        path = pattern
        for part, filled in chosen:
            path = path.replace(f"<{part}>", filled)
        found.append((path, body))
    return found


def _for_custodians() -> Rows:
    """Routes of the API that refuse everybody else."""
    draft, rehearsal = {"draft": "draft"}, {"rehearsal": "rehearsal"}
    one, trial = "/api/v1/drafts/<draft>", "/api/v1/rehearsals/<rehearsal>"
    release, token = "/api/v1/releases/<release>", "/api/v1/users/ana/tokens/<token>"
    return {
        "GET /api/v1/drafts": [("/api/v1/drafts", None)],
        "POST /api/v1/drafts": [
            ("/api/v1/drafts", {"file": "people.csv", "bytes": 9}),
            ("/api/v1/drafts", {"file": "people.csv", "bytes": 9, "dataset": "people"}),
        ],
        "GET /api/v1/drafts/{draft}": _each(one, **draft),
        "PATCH /api/v1/drafts/{draft}": _each(one, {"name": "mine"}, **draft),
        "PATCH /api/v1/drafts/{draft}/file": _each(f"{one}/file", {}, **draft),
        "POST /api/v1/drafts/{draft}/finish": _each(f"{one}/finish", **draft),
        "DELETE /api/v1/drafts/{draft}": _each(one, **draft),
        "POST /api/v1/datasets/{dataset}/rehearsals": [
            (f"{DATA}/rehearsals", {"what": "simulate", **WISHES}),
            (f"{DATA}/rehearsals", {"what": "compare", "tables": ["disease"]}),
        ],
        "GET /api/v1/rehearsals": [("/api/v1/rehearsals", None)],
        "GET /api/v1/rehearsals/{rehearsal}": _each(trial, **rehearsal),
        "DELETE /api/v1/rehearsals/{rehearsal}": _each(trial, **rehearsal),
        "GET /api/v1/rehearsals/{rehearsal}/report": _each(f"{trial}/report", **rehearsal),
        "GET /api/v1/decisions": [("/api/v1/decisions", None)],
        "POST /api/v1/datasets/{dataset}/policies:effects": [
            (f"{DATA}/policies:effects", {"draft": RULES})
        ],
        "POST /api/v1/releases/{release}/approve": _each(
            f"{release}/approve", {"reason": "seen"}, release="ready"
        ),
        "POST /api/v1/releases/{release}/publish": _each(f"{release}/publish", {}, release="ready"),
        "GET /api/v1/users/{user}/tokens": [("/api/v1/users/cas/tokens", None)],
        "DELETE /api/v1/users/{user}/tokens/{token}": _each(token, token="token"),
    }


def _custodians_pages() -> Rows:
    """Pages and forms that refuse everybody else."""
    draft = "/custodian/new/<draft>"
    release = "/custodian/people/publish/<release>"
    trial = "/custodian/people/rehearsals/<rehearsal>"
    proposal = "/custodian/proposals/<proposal>"
    asked = "/custodian/people/requests/<request>"
    sent = {"csrf": "", "reason": "so", "words": "so"}
    plain = ("", "/log", "/log/export", "/new", "/new/version/{dataset}", "/people", "/releases")
    kept = ("ledger", "ledger/export", "policy", "publish")
    listed = [f"/custodian{tail}" for tail in plain]
    listed += [f"/custodian/{{dataset}}/{tail}" for tail in kept]
    pages: Rows = {
        f"GET {route}": [(route.replace("{dataset}", name), None) for name in _known(route)]
        for route in listed
    }
    ready, rehearsal = {"release": "ready"}, {"rehearsal": "rehearsal"}
    forms: Rows = {
        "POST /custodian/new": [("/custodian/new", sent)],
        "POST /custodian/new/version/{dataset}": [("/custodian/new/version/people", sent)],
        "POST /custodian/new/{draft}": _each(draft, sent, draft="draft"),
        "POST /custodian/new/{draft}/cancel": _each(f"{draft}/cancel", sent, draft="draft"),
        "POST /custodian/people": [("/custodian/people", {"name": "zoe", "role": "analyst"})],
        "POST /custodian/people/{user}/end": [("/custodian/people/ana/end", sent)],
        "POST /custodian/people/{user}/tokens/{token}/end": _each(
            "/custodian/people/ana/tokens/<token>/end", sent, token="token"
        ),
        "POST /custodian/{dataset}/policy": [("/custodian/people/policy", sent)],
        "POST /custodian/{dataset}/rehearse": [("/custodian/people/rehearse", {"what": "attack"})],
        "POST /custodian/{dataset}/publish": [
            ("/custodian/people/publish", {"recipe": "rows=disease", "title": "x"})
        ],
        "POST /custodian/{dataset}/shares": [
            ("/custodian/people/shares", {"scope": "user:ana", "epsilon": "1", "reason": "so"})
        ],
    }
    for part in ("accept", "reject"):
        route = f"POST /custodian/proposals/{{proposal}}/{part}"
        forms[route] = _each(f"{proposal}/{part}", sent, proposal="proposal")
    for part in ("approve", "publish", "withdraw"):
        route = f"POST /custodian/{{dataset}}/publish/{{release}}/{part}"
        forms[route] = _each(f"{release}/{part}", sent, **ready)
    return pages | {
        **forms,
        "GET /custodian/new/{draft}": _each(draft, draft="draft"),
        "GET /custodian/people/{user}": [("/custodian/people/ana", None)],
        "GET /custodian/proposals/{proposal}": _each(proposal, proposal="proposal"),
        "GET /custodian/{dataset}/publish/{release}": _each(release, **ready),
        "GET /custodian/{dataset}/publish/{release}/withdraw": _each(
            f"{release}/withdraw", **ready
        ),
        "GET /custodian/{dataset}/rehearsals/{rehearsal}": _each(trial, **rehearsal),
        "POST /custodian/{dataset}/rehearsals/{rehearsal}/delete": _each(
            f"{trial}/delete", sent, **rehearsal
        ),
        "GET /custodian/{dataset}/requests/{request_id}": _each(asked, request="request"),
        "POST /custodian/{dataset}/requests/{request_id}": _each(asked, sent, request="request"),
    }


def _known(route: str) -> tuple[str, ...]:
    return ("people", "raw", "none") if "{dataset}" in route else ("",)


REFUSED: Rows = _for_custodians() | _custodians_pages()
"""Routes of which nobody but a custodian gets more than a refusal."""

READ: Rows = {
    "GET /api/v1/datasets/{dataset}/ledger/lines": [
        (f"{DATA}/ledger/lines", None),
        (f"{DATA}/ledger/lines?kind=rehearsal", None),
        (f"{DATA}/ledger/lines?user=dora", None),
    ],
    "POST /api/v1/datasets/{dataset}/policies:simulate": [
        (f"{DATA}/policies:simulate", WISHES),
        (f"{DATA}/policies:simulate", WISHES | {"records": 250}),
        ("/api/v1/datasets/raw/policies:simulate", WISHES),
    ],
    "GET /releases": [("/releases", None), ("/releases?dataset=people", None)],
    "GET /releases/{release}": [
        *_each("/releases/<release>", release="release"),
        ("/releases/{waiting}", None),
        ("/releases/{ready}", None),
    ],
    "GET /build/{dataset}/ask": [
        ("/build/people/ask?at=rows%3Ddisease", None),
        ("/build/people/ask?sent=true", None),
        ("/build/raw/ask?at=rows%3Dsex", None),
    ],
    "POST /build/{dataset}/ask": [
        ("/build/people/ask", {"at": "rows=disease", "words": "May we have it?"}),
        ("/build/people/ask", {"at": "rows=disease:kuru", "words": ""}),
    ],
    "POST /account/stay": [("/account/stay", {"next": "/data"})],
    "GET /pxweb/v2/codelists/{codelist}": [
        (f"/pxweb/v2/codelists/{{saved}}:{axis}:{level}", None)
        for axis, level in (("sex", "sex"), ("band", "band"), ("disease", "disease"))
    ],
    "POST /pxweb/v2/savedqueries": [
        (
            "/pxweb/v2/savedqueries",
            {"tableId": "{saved}", "language": "en", "selection": {"selection": selection}},
        )
        for selection in (CHOSEN, [{"variableCode": "disease", "valueCodes": ["kuru"]}])
    ],
    **{
        f"GET /pxweb/v2/savedqueries/{{query}}{part}": _each(
            f"/pxweb/v2/savedqueries/<query>{part}", query="query"
        )
        for part in ("", "/selection", "/data")
    },
}
"""Routes that readers get something of."""
