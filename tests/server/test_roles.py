"""Who may do what: every route of the application × every role, and what is not one's own."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx
import pytest

from .reading import shows_numbers
from .serving import PASSWORD, Served, every_route, serving_app

NOBODY, OLD = "nobody", "revoked"
SEEN = {"anonymous": 401, "analyst": 403, "custodian": 200, "auditor": 403, OLD: 401}
OPEN = {"anonymous": 200, "analyst": 200, "custodian": 200, "auditor": 200, OLD: 401}
ASKING = OPEN | {"auditor": 403}
OVERSIGHT = {"anonymous": 401, "analyst": 403, "custodian": 200, "auditor": 200, OLD: 401}
ACCOUNT = {"anonymous": 401, "analyst": 200, "custodian": 200, "auditor": 200, OLD: 401}
KEEPING = ACCOUNT | {"auditor": 403}
CUSTODY = SEEN


def to(table: dict[str, int], status: int) -> dict[str, int]:
    """The same table where a request that is let in ends with another status."""
    return {role: status if code == 200 else code for role, code in table.items()}


RECIPE = {"rows": ["region"], "columns": ["sex"]}
BUDGET = {"epsilon": "10", "reason": "as before"}
# route → (expected status by role, body, path with names filled in)
MATRIX: dict[str, tuple[dict[str, int], object, str]] = {
    "GET /config": (OPEN, None, "/config"),
    "GET /datasets": (OPEN, None, "/datasets"),
    "GET /datasets/{dataset}": (OPEN, None, "/datasets/deaths"),
    "GET /datasets/{dataset}/variables": (OPEN, None, "/datasets/deaths/variables?query=lon"),
    "GET /datasets/{dataset}/variables/{variable}": (OPEN, None, "/datasets/deaths/variables/sex"),
    "GET /datasets/{dataset}/codelists/{level}": (OPEN, None, "/datasets/deaths/codelists/region"),
    "GET /search": (OPEN, None, "/search?query=lon"),
    "POST /datasets/{dataset}/tables:check": (OPEN, RECIPE, "/datasets/deaths/tables:check"),
    "POST /datasets/{dataset}/tables:options": (OPEN, RECIPE, "/datasets/deaths/tables:options"),
    "POST /datasets/{dataset}/tables:infer": (
        ASKING,
        {"recipe": RECIPE, "question": "independence"},
        "/datasets/deaths/tables:infer",
    ),
    "POST /datasets/{dataset}/tables:difference": (
        ASKING,
        {"recipe": RECIPE, "a": {"sex": "F"}, "b": {"sex": "M"}},
        "/datasets/deaths/tables:difference",
    ),
    "POST /datasets/{dataset}/tables": (ASKING, RECIPE, "/datasets/deaths/tables"),
    "GET /datasets/{dataset}/tables": (ASKING, None, "/datasets/deaths/tables?rows=sex"),
    "GET /datasets/{dataset}/tables/metadata": (
        ASKING,
        None,
        "/datasets/deaths/tables/metadata?rows=sex",
    ),
    "GET /datasets/{dataset}/questions/{question}": (
        to(OPEN, 404),
        None,
        "/datasets/deaths/questions/" + "0" * 64,
    ),
    "GET /datasets/{dataset}/requests": (KEEPING, None, "/datasets/deaths/requests"),
    "POST /datasets/{dataset}/requests": (
        to(KEEPING, 201),
        {"words": "May we have areas by month?", "recipe": RECIPE},
        "/datasets/deaths/requests",
    ),
    "POST /datasets/{dataset}/requests/{request_id}/answer": (
        to(CUSTODY, 404),
        {"words": "Yes."},
        "/datasets/deaths/requests/none/answer",
    ),
    "GET /datasets/{dataset}/ledger:verify": (OVERSIGHT, None, "/datasets/deaths-dp/ledger:verify"),
    "POST /session/keep": (OPEN, None, "/session/keep"),
    "GET /datasets/{dataset}/budget": (OPEN, None, "/datasets/deaths/budget"),
    "GET /datasets/{dataset}/register": (OPEN, None, "/datasets/deaths/register"),
    "GET /datasets/{dataset}/ledger": (OVERSIGHT, None, "/datasets/deaths-dp/ledger"),
    "GET /datasets/{dataset}/policies": (OVERSIGHT, None, "/datasets/deaths/policies"),
    "POST /datasets/{dataset}/policies:simulate": (
        OVERSIGHT,
        {"most": 3},
        "/datasets/deaths/policies:simulate",
    ),
    "POST /datasets/{dataset}/rehearsals": (
        to(CUSTODY, 202),
        {"what": "attack", "attacks": ["same-set"]},
        "/datasets/deaths/rehearsals",
    ),
    "GET /rehearsals": (CUSTODY, None, "/rehearsals"),
    "GET /rehearsals/{rehearsal}": (to(CUSTODY, 404), None, "/rehearsals/none"),
    "DELETE /rehearsals/{rehearsal}": (to(CUSTODY, 404), None, "/rehearsals/none"),
    "GET /rehearsals/{rehearsal}/report": (to(CUSTODY, 404), None, "/rehearsals/none/report"),
    "PUT /datasets/{dataset}/budgets/{scope}": (
        CUSTODY,
        {"epsilon": "1", "reason": "a share"},
        "/datasets/deaths-dp/budgets/project:health",
    ),
    "GET /decisions": (CUSTODY, None, "/decisions"),
    "POST /datasets/{dataset}/policies:effects": (
        CUSTODY,
        {"draft": {"rules": {"max_variables": "2"}}},
        "/datasets/deaths-dp/policies:effects",
    ),
    "GET /datasets/{dataset}/ledger/lines": (OVERSIGHT, None, "/datasets/deaths-dp/ledger/lines"),
    "GET /jobs": (KEEPING, None, "/jobs"),
    "GET /jobs/{job}": (to(ASKING, 404), None, "/jobs/none"),
    "DELETE /jobs/{job}": (to(ASKING, 404), None, "/jobs/none"),
    "GET /jobs/{job}/events": (to(ASKING, 404), None, "/jobs/none/events"),
    "GET /jobs/{job}/result": (to(ASKING, 404), None, "/jobs/none/result"),
    "GET /saved": (ASKING, None, "/saved"),
    "POST /saved": (to(KEEPING, 201), {"dataset": "deaths", "recipe": RECIPE}, "/saved"),
    "GET /saved/{saved}": (to(ASKING, 404), None, "/saved/none"),
    "DELETE /saved/{saved}": (to(KEEPING, 404), None, "/saved/none"),
    "GET /saved/{saved}/table": (to(ASKING, 404), None, "/saved/none/table"),
    "GET /releases": (ASKING, None, "/releases"),
    "POST /releases": (
        to(CUSTODY, 201),
        {"dataset": "deaths", "recipe": RECIPE, "title": "Deaths by region"},
        "/releases",
    ),
    "GET /releases/{release}": (to(ASKING, 404), None, "/releases/none"),
    "GET /releases/{release}/tables": (to(ASKING, 404), None, "/releases/none/tables"),
    "GET /releases/{release}/documents/{name}": (
        to(ASKING, 404),
        None,
        "/releases/none/documents/manifest.json",
    ),
    "POST /releases/{release}/approve": (
        to(CUSTODY, 404),
        {"reason": "checked"},
        "/releases/none/approve",
    ),
    "POST /releases/{release}/publish": (to(CUSTODY, 404), {}, "/releases/none/publish"),
    "POST /releases/{release}/withdraw": (
        to(CUSTODY, 404),
        {"reason": "wrong"},
        "/releases/none/withdraw",
    ),
    "GET /pxweb/v2/config": (ASKING, None, "/pxweb/v2/config"),
    "GET /pxweb/v2/tables": (ASKING, None, "/pxweb/v2/tables"),
    "GET /pxweb/v2/tables/{table}": (to(ASKING, 404), None, "/pxweb/v2/tables/none"),
    "GET /pxweb/v2/tables/{table}/metadata": (
        to(ASKING, 404),
        None,
        "/pxweb/v2/tables/none/metadata",
    ),
    "GET /pxweb/v2/tables/{table}/defaultselection": (
        to(ASKING, 404),
        None,
        "/pxweb/v2/tables/none/defaultselection",
    ),
    "GET /pxweb/v2/tables/{table}/data": (to(ASKING, 404), None, "/pxweb/v2/tables/none/data"),
    "POST /pxweb/v2/tables/{table}/data": (
        to(ASKING, 404),
        {"selection": []},
        "/pxweb/v2/tables/none/data",
    ),
    "GET /pxweb/v2/codelists/{codelist}": (to(ASKING, 404), None, "/pxweb/v2/codelists/none"),
    "POST /pxweb/v2/savedqueries": (
        to(ASKING, 400),
        {"selection": {"selection": []}, "language": "en", "tableId": "none"},
        "/pxweb/v2/savedqueries",
    ),
    **{
        f"GET /pxweb/v2/savedqueries/{{query}}{part}": (
            to(ASKING, 404),
            None,
            f"/pxweb/v2/savedqueries/none{part}",
        )
        for part in ("", "/selection", "/data")
    },
    "GET /session": (OPEN, None, "/session"),
    "POST /session": (to(OPEN, 401), {"name": "ana", "password": "not the right one"}, "/session"),
    "DELETE /session": (to(OPEN, 204), None, "/session"),
    "GET /tokens": (ACCOUNT, None, "/tokens"),
    "POST /tokens": (to(ACCOUNT, 201), {"label": "more"}, "/tokens"),
    "DELETE /tokens/{token}": (to(ACCOUNT, 404), None, "/tokens/none"),
    "GET /users": (CUSTODY, None, "/users"),
    "POST /users": (to(CUSTODY, 400), {"name": "ana", "role": "analyst"}, "/users"),
    "DELETE /users/{user}": (to(CUSTODY, 404), None, "/users/none"),
    "GET /users/{user}/tokens": (CUSTODY, None, "/users/ana/tokens"),
    "DELETE /users/{user}/tokens/{token}": (to(CUSTODY, 404), None, "/users/ana/tokens/none"),
    "GET /drafts": (CUSTODY, None, "/drafts"),
    "POST /drafts": (to(CUSTODY, 400), {"file": "x.sav", "bytes": 9}, "/drafts"),
    "GET /drafts/{draft}": (to(CUSTODY, 404), None, "/drafts/none"),
    "PATCH /drafts/{draft}": (to(CUSTODY, 404), {"name": "x"}, "/drafts/none"),
    "PATCH /drafts/{draft}/file": (to(CUSTODY, 422), None, "/drafts/none/file"),
    "POST /drafts/{draft}/finish": (to(CUSTODY, 404), None, "/drafts/none/finish"),
    "DELETE /drafts/{draft}": (to(CUSTODY, 404), None, "/drafts/none"),
    "GET /audit": (OVERSIGHT, None, "/audit"),
    "GET /proposals": (OVERSIGHT, None, "/proposals"),
    "POST /proposals": (to(CUSTODY, 201), {"dataset": "deaths-dp", **BUDGET}, "/proposals"),
    "GET /proposals/{proposal}": (to(OVERSIGHT, 404), None, "/proposals/none"),
    "POST /proposals/{proposal}/accept": (to(CUSTODY, 404), None, "/proposals/none/accept"),
    "POST /proposals/{proposal}/reject": (to(CUSTODY, 404), None, "/proposals/none/reject"),
}


def document(served: Served) -> dict[str, object]:
    return httpx.get(f"{served.url}/api/v1/openapi.json").json()


def routes(served: Served) -> list[str]:
    paths: dict[str, dict[str, object]] = document(served)["paths"]  # type: ignore[assignment]
    return [
        f"{method.upper()} {path.removeprefix('/api/v1')}"
        for path, operations in paths.items()
        for method in operations
    ]


PAGES: dict[str, tuple[dict[str, int], str]] = {
    "GET /custodian/new": (CUSTODY, "/custodian/new"),
    "GET /custodian/new/version/{dataset}": (CUSTODY, "/custodian/new/version/deaths"),
    "GET /custodian/new/{draft}": (to(CUSTODY, 404), "/custodian/new/none"),
    "GET /": (OPEN, "/"),
    "GET /login": (OPEN, "/login"),
    "GET /about": (OPEN, "/about"),
    "GET /account": (OPEN, "/account"),
    "GET /data": (OPEN, "/data"),
    "GET /data/{dataset}": (OPEN, "/data/deaths"),
    "GET /build/{dataset}": (OPEN, "/build/deaths?rows=sex&columns=region"),
    "GET /search": (OPEN, "/search?query=wales"),
    "GET /build/{dataset}/find": (OPEN, "/build/deaths/find?query=age&at=rows%3Dregion"),
    "GET /build/{dataset}/pick/{level}": (OPEN, "/build/deaths/pick/region?rows=sex"),
    "GET /build/{dataset}/chosen": (
        to(OPEN, 303),
        "/build/deaths/chosen?level=region&code=E12000001&at=rows%3Dsex",
    ),
    "GET /build/{dataset}/compare": (
        to(OPEN, 303),
        "/build/deaths/compare?cell=F&cell=M&at=rows%3Dsex",
    ),
    "GET /saved": (ASKING, "/saved"),
    "GET /saved/{saved}": (to(ASKING, 404), "/saved/none"),
    "GET /releases": (ASKING, "/releases"),
    "GET /releases/{release}": (to(ASKING, 404), "/releases/none"),
    "GET /build/{dataset}/ask": (KEEPING, "/build/deaths/ask?at=rows%3Dsex"),
    "GET /jobs": (KEEPING, "/jobs"),
    "GET /jobs/{job}": (to(ASKING, 404), "/jobs/none"),
    "GET /audit": (OVERSIGHT, "/audit"),
    "GET /audit/{dataset}": (OVERSIGHT, "/audit/deaths-dp?verify=true"),
    "GET /audit/{dataset}/export": (OVERSIGHT, "/audit/deaths-dp/export"),
    "GET /custodian": (CUSTODY, "/custodian"),
    "GET /custodian/{dataset}/policy": (CUSTODY, "/custodian/genes/policy"),
    "GET /custodian/{dataset}/rehearsals/{rehearsal}": (
        to(CUSTODY, 404),
        "/custodian/deaths/rehearsals/none",
    ),
    "GET /custodian/{dataset}/ledger": (CUSTODY, "/custodian/deaths-dp/ledger?verify=true"),
    "GET /custodian/{dataset}/ledger/export": (CUSTODY, "/custodian/deaths-dp/ledger/export"),
    "GET /custodian/people": (CUSTODY, "/custodian/people?role=analyst"),
    "GET /custodian/people/{user}": (CUSTODY, "/custodian/people/ana"),
    "GET /custodian/log": (CUSTODY, "/custodian/log?dataset=deaths"),
    "GET /custodian/log/export": (CUSTODY, "/custodian/log/export"),
    "GET /custodian/releases": (CUSTODY, "/custodian/releases"),
    "GET /custodian/{dataset}/publish": (CUSTODY, "/custodian/deaths/publish"),
    "GET /custodian/{dataset}/publish/{release}": (
        to(CUSTODY, 404),
        "/custodian/deaths/publish/none",
    ),
    "GET /custodian/{dataset}/publish/{release}/withdraw": (
        to(CUSTODY, 404),
        "/custodian/deaths/publish/none/withdraw",
    ),
    "GET /custodian/proposals/{proposal}": (to(CUSTODY, 404), "/custodian/proposals/none"),
    "GET /custodian/{dataset}/requests/{request_id}": (
        to(CUSTODY, 404),
        "/custodian/deaths/requests/none",
    ),
    "GET /build/{dataset}/file": (
        ASKING,
        "/build/deaths/file?rows=sex&columns=region&format=csv",
    ),
}
"""Pages outside the document; those who may not ask get a page without a number."""
ASSETS = {
    "GET /health",
    "GET /metrics",
    "GET /ready",
    "GET /assets/{name}",
    "GET /api/v1/docs",
    "GET /api/v1/docs/{name}",
    "POST /login",
    "POST /logout",
    "POST /look",
}
"""What says nothing about any data set, and the forms that open and end a session or keep a look."""
FORMS: dict[str, tuple[dict[str, int], dict[str, str], str]] = {
    "POST /build/{dataset}/release": (
        to(ASKING, 303),
        {"at": "rows=sex"},
        "/build/deaths/release",
    ),
    "POST /build/{dataset}/ask": (
        to(KEEPING, 303),
        {"at": "rows=sex", "words": "May we have areas by month?"},
        "/build/deaths/ask",
    ),
    "POST /saved": (to(KEEPING, 303), {"dataset": "deaths", "at": "rows=sex"}, "/saved"),
    "POST /saved/{saved}/forget": (to(KEEPING, 404), {"csrf": ""}, "/saved/none/forget"),
    "POST /jobs/{job}/cancel": (to(ASKING, 404), {"csrf": ""}, "/jobs/none/cancel"),
    "POST /custodian/proposals/{proposal}/accept": (
        to(CUSTODY, 404),
        {"csrf": ""},
        "/custodian/proposals/none/accept",
    ),
    "POST /custodian/proposals/{proposal}/reject": (
        to(CUSTODY, 404),
        {"csrf": ""},
        "/custodian/proposals/none/reject",
    ),
    "POST /custodian/{dataset}/policy": (
        to(CUSTODY, 400),
        {"reason": "as it is"},
        "/custodian/genes/policy",
    ),
    "POST /custodian/{dataset}/rehearse": (
        to(CUSTODY, 404),
        {"what": "attack"},
        "/custodian/none/rehearse",
    ),
    "POST /custodian/{dataset}/rehearsals/{rehearsal}/delete": (
        to(CUSTODY, 404),
        {"csrf": ""},
        "/custodian/deaths/rehearsals/none/delete",
    ),
    "POST /custodian/{dataset}/shares": (
        to(CUSTODY, 303),
        {"scope": "project:health", "epsilon": "1", "reason": "a share"},
        "/custodian/deaths-dp/shares",
    ),
    "POST /custodian/people": (
        to(CUSTODY, 400),
        {"name": "ana", "role": "analyst"},
        "/custodian/people",
    ),
    "POST /custodian/people/{user}/end": (
        to(CUSTODY, 404),
        {"reason": "gone"},
        "/custodian/people/none/end",
    ),
    "POST /custodian/people/{user}/tokens/{token}/end": (
        to(CUSTODY, 404),
        {"csrf": ""},
        "/custodian/people/ana/tokens/none/end",
    ),
    "POST /custodian/{dataset}/publish": (
        to(CUSTODY, 303),
        {"recipe": "rows=sex", "title": "Deaths by sex"},
        "/custodian/deaths/publish",
    ),
    "POST /custodian/{dataset}/publish/{release}/approve": (
        to(CUSTODY, 404),
        {"reason": "checked"},
        "/custodian/deaths/publish/none/approve",
    ),
    "POST /custodian/{dataset}/publish/{release}/publish": (
        to(CUSTODY, 404),
        {"csrf": ""},
        "/custodian/deaths/publish/none/publish",
    ),
    "POST /custodian/{dataset}/publish/{release}/withdraw": (
        to(CUSTODY, 404),
        {"reason": "wrong"},
        "/custodian/deaths/publish/none/withdraw",
    ),
    "POST /custodian/{dataset}/requests/{request_id}": (
        to(CUSTODY, 404),
        {"words": "Yes."},
        "/custodian/deaths/requests/none",
    ),
    "POST /account/stay": (to(ACCOUNT, 303), {"next": "/data"}, "/account/stay"),
    "POST /account/tokens": (to(ACCOUNT, 201), {"label": "more"}, "/account/tokens"),
    "POST /account/tokens/{token}/end": (
        to(ACCOUNT, 404),
        {"csrf": ""},
        "/account/tokens/none/end",
    ),
}
FORMS |= {
    "POST /custodian/new": (to(CUSTODY, 415), {"csrf": ""}, "/custodian/new"),
    "POST /custodian/new/version/{dataset}": (
        to(CUSTODY, 415),
        {"csrf": ""},
        "/custodian/new/version/deaths",
    ),
    "POST /custodian/new/{draft}": (to(CUSTODY, 404), {"csrf": ""}, "/custodian/new/none"),
    "POST /custodian/new/{draft}/cancel": (
        to(CUSTODY, 404),
        {"csrf": ""},
        "/custodian/new/none/cancel",
    ),
}
"""Forms of pages that spend or keep, what they send, and where."""


@pytest.mark.slow
def test_every_route_has_a_row(served: Served):
    """A new route without a row in the matrix, or a row without a route, fails."""
    assert sorted(routes(served)) == sorted(MATRIX)
    prefixed = {route.replace(" /", " /api/v1/") for route in MATRIX if "/pxweb/" not in route}
    pxweb = {route for route in MATRIX if "/pxweb/" in route}
    assert set(every_route()) - prefixed - pxweb == ASSETS | set(PAGES) | set(FORMS)
    assert document(served)["openapi"].startswith("3.1")  # type: ignore[union-attr]


def test_every_route_is_documented(served: Served):
    """A route that is not in docs/reference/http.md fails the build."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "http.md").read_text("utf-8")
    missing = [
        route for route in routes(served) if "/pxweb/" not in route and f"`{route}`" not in page
    ]
    assert not missing


@pytest.mark.slow
def test_every_route_by_every_role(served: Served):
    """No route answers a role with another status than the matrix says; all errors are problems."""
    with served.client("ana") as ana:
        old = ana.post("/tokens", json={"label": "to be revoked"}).json()
        assert ana.delete(f"/tokens/{old['id']}").status_code == 204
    keys = {
        "anonymous": {},
        "analyst": {"Authorization": f"Bearer {served.tokens['ana']}"},
        "custodian": {"Authorization": f"Bearer {served.tokens['cas']}"},
        "auditor": {"Authorization": f"Bearer {served.tokens['odo']}"},
        OLD: {"Authorization": f"Bearer {old['token']}"},
    }
    deviations = []
    wire = httpx.Client(timeout=300)
    for route, (expected, body, path) in MATRIX.items():
        for role, headers in keys.items():
            base = served.url + ("" if path.startswith("/pxweb") else "/api/v1")
            answer = wire.request(route.split()[0], base + path, json=body, headers=headers)
            if answer.status_code != expected[role]:
                deviations.append((route, role, expected[role], answer.status_code, answer.text))
            if answer.status_code >= 400:
                assert answer.headers["content-type"] == "application/problem+json"
                assert answer.json()["detail"].endswith((".", "`"))
    wire.close()
    assert not deviations


@pytest.mark.slow
def test_every_page_by_every_role(served: Served):
    """No page or form answers a role with another status than the matrix says."""
    names = {"anonymous": None, "analyst": "ana", "custodian": "cas", "auditor": "odo"}
    deviations = []
    rows = [(route, code, None, path) for route, (code, path) in PAGES.items()]
    with httpx.Client(base_url=served.url, timeout=300) as wire:
        for route, expected, sent, path in (*rows, *((n, *row) for n, row in FORMS.items())):
            for role, name in names.items():
                headers = {"Authorization": f"Bearer {served.tokens[name]}"} if name else {}
                answer = wire.request(route.split()[0], path, data=sent, headers=headers)
                if answer.status_code != expected[role]:
                    deviations.append((route, role, expected[role], answer.status_code))
    assert not deviations


def test_pages_give_no_numbers_to_whom_the_api_refuses_them(served: Served):
    """An auditor, and a token that is not good for tables, get form and verdict without a table."""
    with served.client("ana") as ana:
        read = ana.post("/tokens", json={"scopes": ["read"]}).json()["token"]
        assert ana.post("/datasets/deaths-dp/tables", json={**RECIPE, "epsilon": "0.1"}).is_success
    tokens = {"auditor": served.tokens["odo"], "read": read, "analyst": served.tokens["ana"]}
    for path in ("/build/deaths?rows=sex", "/build/deaths-dp?rows=region&columns=sex&epsilon=0.1"):
        for who, token in tokens.items():
            headers = {"Authorization": f"Bearer {token}"}
            page = httpx.get(served.url + path, headers=headers, timeout=300)
            assert page.status_code == 200
            assert shows_numbers(page.text) == (who == "analyst"), (who, path)
            assert ("format=csv" in page.text) <= (who == "analyst"), (who, path)
    for _, path in PAGES.values():
        old = {"Authorization": "Bearer dct_0000000000000000_x"}
        assert httpx.get(served.url + path, headers=old, timeout=300).status_code == 401


def test_a_route_without_a_guard_does_not_start():
    """Deny by default: an app with an unguarded route is refused."""
    from fastapi import APIRouter

    from discreet.errors import Bug
    from discreet.server.app import refuse_unguarded
    from discreet.server.routes import routers

    router = APIRouter()
    router.get("/open")(lambda: None)
    with pytest.raises(Bug):
        refuse_unguarded(router)
    for guarded in routers():
        refuse_unguarded(guarded)


def test_the_gate_stops_what_no_guard_let_through(demo: Path, tmp_path: Path):
    """A route that slipped past the first check answers 500 and says nothing."""
    from discreet.server import create_app

    workspace = tmp_path / "demo"
    workspace.mkdir()
    app = create_app(workspace)
    app.get("/slipped")(lambda: {"secret": "words"})
    with serving_app(app) as url:
        answer = httpx.get(f"{url}/slipped")
        assert answer.status_code == 500
        assert "words" not in answer.text
        assert httpx.get(f"{url}/health").status_code == 200


def test_what_is_not_yours_is_not_there(served: Served):
    """Another's job, saved table or token answers as one that does not exist, byte for byte."""
    with served.client("ana") as ana, served.client("ben") as ben:
        job = ana.post(
            "/datasets/deaths/tables", json=RECIPE, headers={"Prefer": "respond-async"}
        ).json()["id"]
        kept = ana.post("/saved", json={"dataset": "deaths", "recipe": RECIPE}).json()["id"]
        token = ana.post("/tokens", json={}).json()["id"]
        assert ana.get(f"/jobs/{job}").status_code == 200
        assert ana.get(f"/saved/{kept}").status_code == 200
        for mine, path in ((job, "/jobs/{}"), (job, "/jobs/{}/result"), (job, "/jobs/{}/events"),
                           (kept, "/saved/{}"), (kept, "/saved/{}/table")):  # fmt: skip
            theirs, none = ben.get(path.format(mine)), ben.get(path.format("0" * len(mine)))
            assert (theirs.status_code, theirs.content) == (404, none.content)
        for mine, path in ((job, "/jobs/{}"), (kept, "/saved/{}"), (token, "/tokens/{}")):
            theirs, none = ben.delete(path.format(mine)), ben.delete(path.format("0" * len(mine)))
            assert (theirs.status_code, theirs.content) == (404, none.content)
    with served.client() as public:
        hidden, none = public.get("/datasets/deaths-dp"), public.get("/datasets/nothing")
        assert (hidden.status_code, hidden.content) == (401, none.content)
        assert [d["id"] for d in public.get("/datasets").json()["datasets"]] == ["deaths"]


def test_a_token_does_no_more_than_its_scopes(served: Served):
    """A token with scope read reads, and neither asks nor makes a token that could."""
    with served.client("cas") as cas:
        text = cas.post("/tokens", json={"scopes": ["read"], "days": 1}).json()["token"]
    with httpx.Client(
        base_url=f"{served.url}/api/v1", headers={"Authorization": f"Bearer {text}"}
    ) as weak:
        assert weak.get("/datasets").status_code == 200
        assert weak.post("/datasets/deaths/tables", json=RECIPE).status_code == 403
        assert weak.get("/users").status_code == 403
        assert weak.get("/audit").status_code == 403
        assert weak.post("/tokens", json={"scopes": ["manage"]}).status_code == 403
        child = weak.post("/tokens", json={"days": 3660}).json()
        assert child["scopes"] == ["read"]
        assert child["expires"] < time.time() + 86400  # no longer than the one that made it


def test_revoked_accounts_and_forged_tokens(served: Served):
    """A revoked account's tokens and sessions end at once; a token changed in one place is nobody's."""
    with served.client("cas") as cas:
        assert cas.post(
            "/users", json={"name": "eve", "role": "analyst", "password": PASSWORD}
        ).is_success
        with httpx.Client(base_url=f"{served.url}/api/v1") as eve:
            csrf = eve.post("/session", json={"name": "eve", "password": PASSWORD}).json()["csrf"]
            made = eve.post("/tokens", json={}, headers={"X-CSRF-Token": csrf}).json()["token"]
            assert eve.get("/session").json()["role"] == "analyst"
            assert cas.delete("/users/eve").json()["revoked"]
            assert eve.get("/session").json()["role"] == "public"
            assert eve.get("/tokens").status_code == 401
        for text in (made, served.tokens["ana"][:-1] + "A", "dct_", "x" * 200):
            answer = httpx.get(
                f"{served.url}/api/v1/tokens", headers={"Authorization": f"Bearer {text}"}
            )
            if text != served.tokens["ana"]:
                assert answer.status_code == 401
        last = cas.delete("/users/nobody-of-that-name")
        assert last.status_code == 404


def test_posts_from_other_sites_are_refused(served: Served):
    """With a session every change needs its token and, where an Origin is sent, this origin."""
    with httpx.Client(base_url=f"{served.url}/api/v1") as ana:
        wrong = ana.post("/session", json={"name": "ana", "password": "some other phrase"})
        unknown = ana.post("/session", json={"name": "nobody", "password": "some other phrase"})
        assert wrong.status_code == unknown.status_code == 401
        assert wrong.content == unknown.content
        other = {"Origin": "https://elsewhere.example"}
        login = {"name": "ana", "password": PASSWORD}
        assert ana.post("/session", json=login, headers=other).status_code == 403
        assert ana.post("/session", data=login).status_code == 415
        made = ana.post("/session", json=login)
        cookie = made.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        csrf = {"X-CSRF-Token": made.json()["csrf"]}
        body = {"dataset": "deaths", "recipe": RECIPE}
        assert ana.post("/saved", json=body).status_code == 403
        assert ana.post("/saved", json=body, headers={"X-CSRF-Token": "0" * 64}).status_code == 403
        assert ana.post("/saved", json=body, headers=csrf | other).status_code == 403
        assert ana.post("/saved", json=body, headers=csrf).status_code == 201
        same = {"Origin": served.url}
        assert ana.post("/saved", json=body, headers=csrf | same).status_code == 201
        before = ana.cookies["discreet"]
        ana.post("/session", json=login, headers=csrf)
        assert ana.cookies["discreet"] != before  # a new secret at every login
        assert ana.get("/session", headers={"Cookie": f"discreet={before}"}).json()["user"] is None
        csrf = {"X-CSRF-Token": ana.get("/session").json()["csrf"]}
        assert ana.delete("/session", headers=csrf).status_code == 204
        assert ana.get("/session").json()["role"] == "public"


def test_secure_cookies_bear_the_host_prefix(demo, tmp_path):
    """Behind https the cookie is Secure and named so that browsers keep it to this host."""
    from discreet.server import Settings
    from discreet.server.auth import cookie_name

    assert cookie_name(Settings(secure=True)) == "__Host-discreet"


def test_every_request_is_in_the_audit_log(served: Served):
    """Who, what, how it ended: in the log before the answer left, chained, and never changed."""
    import sqlite3

    from discreet.store.audit_log import AuditLog

    with served.client("ana") as ana, served.client("odo") as odo:
        number = ana.post("/datasets/deaths/tables", json={"rows": ["sex"]}).headers["x-request-id"]
        rows = odo.get("/audit?user=ana").json()["rows"]
        row = next(row for row in rows if row.get("request") == number)
        assert row["route"] == "/datasets/{dataset}/tables"
        assert (row["status"], row["role"], row["dataset"]) == (200, "analyst", "deaths")
        assert "value" not in json.dumps(rows)
    log = AuditLog(served.workspace)
    assert log.verify() > 10
    log.close()
    connection = sqlite3.connect(served.workspace / "audit.sqlite3")
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute("DELETE FROM log WHERE seq = 1")
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute("UPDATE log SET user = 'x' WHERE seq = 1")
    connection.close()


def test_a_token_gives_no_more_than_it_has_and_takes_its_own_along(served: Served):
    """Made with a limited token: no further scope, no longer life; it ends when that one ends, and
    a limited token cannot end one that may do more."""
    with served.client("ben") as ben:
        limited = ben.post("/tokens", json={"scopes": ["read"], "days": 2}).json()
        tokens = {"ben": limited["token"]}
        with Served(served.url, served.workspace, tokens).client("ben") as small:
            assert small.post("/tokens", json={"scopes": ["read", "tables"]}).status_code == 403
            child = small.post("/tokens", json={"days": 3660}).json()
            assert child["scopes"] == ["read"]
            assert child["expires"] <= limited["expires"]
            wide = served.tokens["ben"].split("_")[1]
            assert small.delete(f"/tokens/{wide}").status_code == 403
        with Served(served.url, served.workspace, {"ben": child["token"]}).client("ben") as young:
            grandchild = young.post("/tokens", json={"days": 1}).json()
            assert young.get("/session").json()["user"] == "ben"
            assert ben.delete(f"/tokens/{limited['id']}").status_code == 204
            assert young.get("/session").status_code == 401
        with Served(served.url, served.workspace, {"ben": grandchild["token"]}).client(
            "ben"
        ) as last:
            assert last.get("/session").status_code == 401
        assert ben.get("/session").is_success
