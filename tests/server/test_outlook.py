"""What a page needs to know before anything is spent: options, prices, other accuracies."""

from __future__ import annotations

import re

import pytest

import discreet as dc

from .serving import Served

DP = "/datasets/deaths-dp"
KEYED = "/datasets/deaths"


def level(found: dict, variable: str, name: str) -> dict:
    """One level of what `tables:options` says."""
    levels = next(one["levels"] for one in found["variables"] if one["name"] == variable)
    return next(one for one in levels if one["name"] == name)


def test_check_tells_price_and_reach_in_figures(served: Served):
    """Cost and what is left are exact figures, with the largest ε there is and ± for every total."""
    with served.client("ana") as ana:
        asked = {"rows": ["region"], "columns": ["age"], "epsilon": "0.25"}
        seen = ana.post(f"{DP}/tables:check", json=asked).json()
        assert seen["figures"]["cost"] == {"kind": "pure", "epsilon": "0.25"}
        assert seen["figures"]["left"]["kind"] == "pure"
        assert seen["largest_epsilon"] == seen["figures"]["left"]["epsilon"]
        (error,) = seen["errors"]
        assert set(error["totals_within_95"]) == set(error["totals_sd"]) == {"age", "region", ""}
        law = dc.laplace(epsilon="0.25")
        assert error["within_95"] == law.half_width("0.95")
        assert error["totals_within_95"]["region"] == law.half_width("0.95", 10)
        keyed = ana.post(f"{KEYED}/tables:check", json={"rows": ["region"]}).json()
        assert keyed["figures"] == {"cost": None, "left": None}
        assert keyed["largest_epsilon"] is None


def test_check_says_what_fits_where_too_much_was_asked(served: Served):
    """A question dearer than what is left is not affordable, and a recipe that fits is offered."""
    with served.client("ana") as ana:
        asked = {"rows": ["region"], "epsilon": "50"}
        seen = ana.post(f"{DP}/tables:check", json=asked).json()
        assert (seen["allowed"], seen["affordable"]) == (True, False)
        (offer,) = seen["alternatives"]
        assert offer["recipe"]["epsilon"] == seen["largest_epsilon"]
        assert offer["cells"] == seen["cells"]
        assert offer["as_job"] is False
        fits = ana.post(f"{DP}/tables:check", json=offer["recipe"]).json()
        assert fits["affordable"]
        assert fits["errors"][0]["within_95"] == offer["within_95"]


def test_check_says_what_a_question_follows_from(served: Served):
    """Totals of a table released before are free; `check` names that release, and the free answer
    has its numbers."""
    with served.client("ana") as ana:
        whole = {"rows": ["month"], "columns": ["sex"], "epsilon": "0.5"}
        totals = {"rows": ["month"], "epsilon": "0.25"}
        assert ana.post(f"{DP}/tables:check", json=totals).json()["follows_from"] is None
        released = ana.post(f"{DP}/tables", json=whole)
        seen = ana.post(f"{DP}/tables:check", json=totals).json()
        assert seen["follows_from"] == released.headers["discreet-question"]
        free = ana.post(f"{DP}/tables?free=true", json=totals)
        assert free.headers["discreet-charged"] == "no"
        cells = released.json()["value"][2::3]
        assert free.json()["value"] == cells
        # a question that was answered itself follows from nothing: it is there
        again = ana.post(f"{DP}/tables:check", json=whole).json()
        assert (again["standing"], again["follows_from"]) == ("answered", None)


def test_ladder_says_what_each_accuracy_costs(served: Served):
    """Each rung has its price, its ± and whether it can be had; dearer is closer."""
    with served.client("ana") as ana:
        asked = {"rows": ["region"], "epsilon": "4"}
        rungs = ana.post(f"{DP}/tables:check?ladder=true", json=asked).json()["ladder"]
        assert [rung["value"] for rung in rungs] == ["1", "2", "4", "8", "16"]
        widths = [rung["within_95"] for rung in rungs]
        assert widths == sorted(widths, reverse=True)
        assert [rung["figures"]["epsilon"] for rung in rungs] == ["1", "2", "4", "8", "16"]
        assert rungs[0]["affordable"]
        assert not rungs[-1]["affordable"]


def test_alternatives_say_size_error_and_labels(served: Served):
    """What would work instead comes with its size, its error, its address and a reader's words; what
    keeps most of the table comes first."""
    with served.client("ana") as ana:
        asked = {"rows": ["ccg", "age", "sex"], "columns": ["cause", "marital"]}
        seen = ana.post(f"{KEYED}/tables:check", json=asked).json()
        offers = seen["alternatives"]
        assert offers[0]["words"] == "leave out sex"
        assert offers[0]["title"] == "Leave out Sex"
        assert {"kind": "drop", "level": "area:ccg", "to": None} in [o["steps"][0] for o in offers]
        sizes = [offer["cells"] for offer in offers]
        assert sizes == sorted(sizes, reverse=True)
        for offer in offers:
            taken = ana.post(f"{KEYED}/tables:check", json=offer["recipe"]).json()
            assert taken["allowed"]
            assert taken["cells"] == offer["cells"]
            assert taken["errors"][0]["within_95"] == offer["within_95"]
            assert taken["query"] == offer["query"]


def test_options_are_what_check_would_say(served: Served):
    """For every level, in the table and as a filter: allowed, rule and cells are those of a check."""
    with served.client("ana") as ana:
        for asked in (
            {"rows": ["region", "age"], "columns": ["cause", "sex"]},
            {"rows": ["country"], "where": {"sex": ["F"]}},
        ):
            found = ana.post(f"{KEYED}/tables:options", json=asked).json()
            variables = {
                v: [one["name"] for one in level_["levels"]]
                for level_ in found["variables"]
                for v in [level_["name"]]
            }
            assert level(found, "area", asked["rows"][0])["used"]
            for variable, levels in variables.items():
                for name in levels:
                    option = level(found, variable, name)
                    side = {
                        n: [a for a in asked.get(n, ()) if a not in levels]
                        for n in ("rows", "columns")
                    }
                    changed = {**asked, **side, "rows": [*side["rows"], name]}
                    seen = ana.post(f"{KEYED}/tables:check?free=true", json=changed).json()
                    assert option["in_table"]["allowed"] == seen["allowed"]
                    assert option["in_table"]["cells"] == seen["cells"]
                    rules = [breach["rule"] for breach in seen["breaches"]]
                    assert option["in_table"]["rule"] == (rules[0] if rules else "")


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"tables": [{"rows": ["sex"]}, {"rows": ["age"]}]}, 400, "one table"),
        ({"rows": ["nothing"]}, 400, "nothing"),
        ({"rows": ["sex"], "evil": "<script>"}, 422, "evil"),
        (["sex"], 422, ""),
    ],
)
def test_options_refuse_what_cannot_be_understood(served: Served, body, status, words):
    """Several tables, unknown names and other forms are problems in a sentence."""
    with served.client("ana") as ana:
        answer = ana.post(f"{KEYED}/tables:options", json=body)
        assert answer.status_code == status, answer.text
        assert words in answer.json()["detail"]


def test_a_fragment_has_the_numbers_of_the_file(served: Served):
    """`format=html` shows the rows asked for, sorted as the CSV is, charges nothing more, and is kept
    apart by its window."""
    asked = "rows=region&columns=sex&epsilon=0.5&sort=total,down"
    with served.client("ana") as ana:
        rows = ana.get(f"{DP}/tables?{asked}&format=csv").text.splitlines()[1:]
        labels = list(dict.fromkeys(row.split(",")[1] for row in rows))
        pages = [
            ana.get(f"{DP}/tables?{asked}&format=html&from={first}&rows_most=5&intervals=true")
            for first in (1, 6, 11)
        ]
        assert {page.headers["discreet-charged"] for page in pages} == {"no"}
        assert pages[0].headers["content-type"].startswith("text/html")
        assert "content-disposition" not in pages[0].headers
        shown = [
            re.findall(r"<tr[^>]*><th scope=row>(.*?)</th>", page.text, re.DOTALL) for page in pages
        ]
        assert [label for page in shown for label in page] == labels
        assert len({page.headers["etag"] for page in pages}) == 3
        assert "<small>" in pages[0].text


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ("&from=0", 422),
        ("&from=1000", 400),
        ("&rows_most=0", 422),
        ("&from=one", 422),
        ("&sort=%3Cscript%3E", 400),
        ("&sort=sex:F", 400),
        ("&decimals=9", 400),
        ("&empty=all", 400),
        ("&window=3", 400),
    ],
)
def test_views_refuse_what_cannot_be_shown(served: Served, more: str, status: int):
    """Wrong windows and layouts are problems in a sentence, with no markup of the asker's."""
    with served.client("ana") as ana:
        answer = ana.get(f"{KEYED}/tables?rows=region{more}&format=html")
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"].startswith("application/problem+json")


def test_the_catalogue_says_how_data_are_shown(served: Served):
    """Featured tables come with headline and address that work; categories with short and tile."""
    with served.client("ana") as ana:
        about = ana.get("/datasets/deaths").json()
        first = about["featured"][0]
        assert first["title"] == "What people die of changes with age"
        table = ana.get(f"{KEYED}/tables?{first['query']}")
        assert table.status_code == 200, table.text
        assert ana.post(f"{KEYED}/tables", json=first["recipe"]).json() == table.json()
        regions = ana.get(f"{KEYED}/codelists/region").json()["categories"]
        yorkshire = next(one for one in regions if one["code"] == "E12000003")
        assert (yorkshire["short"], yorkshire["tile"]) == ("Yorkshire", [2, 2])
        listed = ana.get(f"{KEYED}/variables").json()["variables"]
        assert {one["name"]: one["group"] for one in listed}["age"] == "The person"


def test_pictures_are_drawn_from_the_released_table(served: Served):
    """A picture costs nothing once its table is there, is kept apart by kind and theme, and what it
    cannot show is a sentence."""
    asked = "rows=region&columns=sex&epsilon=0.5"
    with served.client("ana") as ana:
        ana.get(f"{DP}/tables?{asked}")
        tags = set()
        for more in ("", "&chart=multiples", "&chart=heat&theme=print", "&chart=tiles"):
            picture = ana.get(f"{DP}/tables?{asked}&format=svg{more}")
            assert picture.status_code == 200, picture.text
            assert picture.headers["content-type"].startswith("image/svg+xml")
            assert picture.headers["discreet-charged"] == "no"
            assert ("content-disposition" in picture.headers) == ("print" in more)
            tags.add(picture.headers["etag"])
        assert len(tags) == 4
        spec = ana.get(f"{DP}/tables?{asked}&format=vega-lite")
        assert spec.json()["$schema"].endswith("v5.json")
        for wrong, status in (("pie", 422), ("lines", 400)):
            assert ana.get(f"{DP}/tables?{asked}&format=svg&chart={wrong}").status_code == status
        large = ana.get(f"{KEYED}/tables?rows=ccg&columns=age&format=svg")
        assert large.status_code == 400
        assert "too much for one picture" in large.json()["detail"]


def test_a_view_that_cannot_be_is_said_before_it_is_paid_for(served: Served):
    """Rows past the end and pictures that cannot be drawn are refused with nothing charged."""
    asked = "rows=marital&columns=month&epsilon=0.375"
    with served.client("ana") as ana:
        before = len(ana.get(f"{DP}/register").json()["charges"])
        for more in ("format=html&from=100", "format=svg&chart=tiles", "format=svg&chart=bars"):
            answer = ana.get(f"{DP}/tables?{asked}&{more}")
            assert answer.status_code == 400, answer.text
        assert len(ana.get(f"{DP}/register").json()["charges"]) == before
        shown = ana.get(f"{DP}/tables?{asked}&format=svg&chart=heat")
        assert shown.headers["discreet-charged"] == "yes"
        assert len(ana.get(f"{DP}/register").json()["charges"]) == before + 1
