"""Looking for words over variables, categories and ready tables."""

from __future__ import annotations

import pytest

import discreet as dc

from .serving import Served


def test_everything_that_holds_the_words_is_found(served: Served):
    """Variables, categories with their parents, and featured tables; what begins so comes first."""
    with served.client("ana") as ana:
        found = ana.get("/search?query=wal").json()
        first = found["categories"][0]
        assert (first["label"], first["level"]) == ("Wales", "region")
        assert first["parents"] == {"country": "W92000004"}
        assert {one["dataset"] for one in found["categories"]} == {"deaths", "deaths-dp"}
        sexes = ana.get("/search?query=SEX").json()
        assert [one["name"] for one in sexes["variables"]] == ["sex", "sex"]
        tables = ana.get("/search?query=winter%20lungs").json()["tables"]
        assert [(one["kind"], one["dataset"]) for one in tables] == [("featured", "deaths")]
        assert ana.get(tables[0]["address"].removeprefix("/api/v1")).status_code == 200
        only = ana.get("/search?query=wal&dataset=deaths").json()
        assert {one["dataset"] for one in only["categories"]} == {"deaths"}


def test_limits_cut_and_say_so(served: Served):
    """At most `limit` of each kind, and how many more there are."""
    with served.client("ana") as ana:
        few = ana.get("/search?query=a&limit=3").json()
        assert len(few["categories"]) == 3
        every = ana.get("/search?query=a&limit=1000").json()
        assert (
            few["more"]["categories"] == len(every["categories"]) - 3 + every["more"]["categories"]
        )
        listed = ana.get("/datasets/deaths/variables?query=a&limit=2").json()["variables"]
        area = next(one for one in listed if one["name"] == "area")
        assert len(area["matches"]) == 2
        assert area["more"] > 100


def test_saved_tables_are_found_by_those_who_may_read_them(served: Served):
    """One's own and shared ones; an auditor, another analyst and a stranger find none of mine."""
    body = {"dataset": "deaths-dp", "recipe": {"rows": ["sex"], "epsilon": "0.1"}}
    with served.client("ana") as ana, served.client("ben") as ben, served.client("odo") as odo:
        ana.post("/saved", json={**body, "title": "Zebra mine"})
        ana.post("/saved", json={**body, "title": "Zebra shared", "shared": True})
        titles = {
            name: [one["title"] for one in who.get("/search?query=zebra").json()["tables"]]
            for name, who in (("ana", ana), ("ben", ben), ("odo", odo))
        }
        assert sorted(titles["ana"]) == ["Zebra mine", "Zebra shared"]
        assert titles["ben"] == ["Zebra shared"]
        assert titles["odo"] == []
    with served.client() as public:
        assert public.get("/search?query=zebra").json()["tables"] == []


@pytest.mark.parametrize("query", ["kentmere", "welsh", "Londn"])
def test_what_is_not_there_has_neighbours(served: Served, query: str):
    """Nothing found: nothing but labels spelled alike."""
    with served.client("ana") as ana:
        found = ana.get(f"/search?query={query}").json()
        assert found["variables"] == found["categories"] == found["tables"] == []
        if query == "Londn":
            assert found["near"][0] == "London"


def test_code_lists_are_chosen_from_and_paged(served: Served):
    """Words and a parent choose, offset and limit show a part, `total` counts the chosen ones."""
    path = "/datasets/deaths/codelists/ccg"
    with served.client("ana") as ana:
        every = ana.get(path).json()
        assert every["total"] == len(every["categories"]) == 251
        for parent in ("W99999999", "region:W99999999", "W92000004", "country:W92000004"):
            assert ana.get(path, params={"parent": parent}).json()["total"] == 7
        assert ana.get(path, params={"parent": "nowhere"}).json()["total"] == 0
        pages = [
            ana.get(path, params={"offset": offset, "limit": 100}).json()
            for offset in (0, 100, 200, 300)
        ]
        assert {page["total"] for page in pages} == {251}
        listed = [one for page in pages for one in page["categories"]]
        assert listed == every["categories"]
        word = every["categories"][3]["label"]
        chosen = ana.get(path, params={"query": word}).json()["categories"]
        assert word in [one["label"] for one in chosen]
    with dc.connect(served.url, token=served.tokens["ana"]) as server:
        data = server.open("deaths")
        assert len(data.categories("ccg", parent="W99999999")) == 7
        assert server.search("wales")["categories"][0]["label"] == "Wales"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/search", 422),
        ("/search?query=%20", 400),
        ("/search?query=" + "x" * 300, 422),
        ("/search?query=a&limit=0", 422),
        ("/search?query=a&limit=100000", 422),
        ("/datasets/deaths/codelists/ccg?offset=-1", 422),
        ("/datasets/deaths/codelists/ccg?limit=0", 422),
        ("/search?query=%00%0a<script>", 200),
    ],
)
def test_hostile_searches_are_answered_in_a_sentence(served: Served, path: str, status: int):
    """Wrong limits and empty words are problems; markup is text."""
    with served.client("ana") as ana:
        answer = ana.get(path)
        assert answer.status_code == status
        if status == 200:
            assert answer.json()["categories"] == []
