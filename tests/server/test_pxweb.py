"""The PxWebApi v2 face: pxwebpy reads saved tables; selections cut and never add; nothing is spent."""

from __future__ import annotations

import contextlib
import io
from csv import DictReader as csv_reader
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxweb import PxApi

from discreet.core.domain import TOTAL, Axis, Category, Level, Variable, variable
from discreet.core.text import Text
from discreet.errors import InputError
from discreet.server import Settings
from discreet.server.pxweb.selection import _Codes, cut, select, split
from discreet.server.pxweb.shared_tables import (
    SharedTable,
    code_list_id,
    periods_of,
    renamed,
    told_apart,
)

from .serving import Served, add_accounts, serving

RECIPE = {"rows": ["region"], "columns": ["sex"]}


@pytest.fixture(scope="module")
def saved(served: Served) -> str:
    """A shared table of the public data set."""
    return save(served, "deaths", RECIPE)


def save(
    served: Served,
    dataset: str,
    recipe: dict[str, Any],
    *,
    shared: bool = True,
    title: str = "Deaths by region",
) -> str:
    body = {"dataset": dataset, "recipe": recipe, "title": title, "shared": shared}
    with served.client("ana") as client:
        answer = client.post("/saved", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def face(served: Served, who: str | None = None) -> httpx.Client:
    headers = {"Authorization": f"Bearer {served.tokens[who]}"} if who else {}
    return httpx.Client(base_url=f"{served.url}/pxweb/v2", headers=headers, timeout=300)


def whole(served: Served, saved: str) -> dict[str, Any]:
    """The table as the native API gives it."""
    with served.client() as client:
        return dict(client.get(f"/saved/{saved}/table").raise_for_status().json())


def cells(dataset: dict[str, Any]) -> dict[tuple[str, ...], Any]:
    """Numbers by codes, by a plain loop."""
    import itertools

    names = [name for name in dataset["id"] if name != "ContentsCode"]
    lists = [list(dataset["dimension"][name]["category"]["index"]) for name in names]
    return dict(zip(itertools.product(*lists), dataset["value"], strict=True))


@pytest.mark.slow
def test_pxwebpy_reads_a_saved_table(served: Served, saved: str) -> None:
    """Search, metadata and every number through somebody else's client, from a live server."""
    api = PxApi(f"{served.url}/pxweb/v2", disable_cache=True)
    assert api.number_of_tables
    assert saved in [table["id"] for table in api.search(query="deaths region")["tables"]]
    variables = api.get_table_variables(saved)
    assert set(variables) == {"region", "sex", "ContentsCode"}
    native = cells(whole(served, saved))
    rows = api.get_table_data_all(saved, show="code")
    labels = {name: api.get_table_metadata(saved)["dimension"][name]["label"] for name in variables}
    read = {(row[labels["region"]], row[labels["sex"]]): row["value"] for row in rows}
    assert read == native
    some = api.get_table_data(saved, {"region": ["E12*"], "sex": ["F", TOTAL]}, show="code")
    assert len(some) == 2 * len([c for c, s in native if s == "F" and c.startswith("E12")])
    for row in some:
        assert row["value"] == native[(row[labels["region"]], row[labels["sex"]])]


def test_pxstatspy_makes_a_data_frame(served: Served, saved: str) -> None:
    """Another client, which looks for what a table counts in a dimension of its own."""
    from pxstatspy import OutputFormatParam, PxAPI, PxAPIConfig

    api = PxAPI(PxAPIConfig(base_url=f"{served.url}/pxweb/v2"))
    frame = api.get_data_as_dataframe(
        saved,
        {"region": ["top(2)"], "sex": ["F", "M"]},
        output_format_param=OutputFormatParam.USE_CODES,
    )
    with face(served) as client:
        part = client.get(
            f"/tables/{saved}/data?valuecodes[region]=top(2)&valuecodes[sex]=F,M"
        ).json()
    numbers = [column for column in frame.columns if frame[column].dtype.kind in "if"]
    assert sorted(int(n) for n in frame[numbers[-1]]) == sorted(part["value"])
    assert len(frame) == 4


def test_a_grand_total_has_contents_and_nothing_else(served: Served) -> None:
    """A table without variables is one number for every client, in every format, however selected."""
    from pxstatspy import PxAPI, PxAPIConfig

    saved = save(served, "deaths", {"rows": []})
    (number,) = whole(served, saved)["value"]
    frame = PxAPI(PxAPIConfig(base_url=f"{served.url}/pxweb/v2")).get_data_as_dataframe(saved, {})
    assert number in frame.to_numpy().ravel().tolist()
    with face(served) as client:
        address = f"/tables/{saved}/data"
        for select in ("", "?valuecodes[ContentsCode]=*"):
            table = client.get(address + select).json()
            assert (table["id"], table["value"]) == (["ContentsCode"], [number])
        file = client.get(f"{address}?outputFormat=parquet").content
    assert pq.read_table(io.BytesIO(file))["count"].to_pylist() == [number]


def test_pxwebpy_splits_a_large_table_and_gets_all_of_it(served: Served, saved: str) -> None:
    """A client that must send several queries puts the same table together."""
    api = PxApi(f"{served.url}/pxweb/v2", disable_cache=True, max_workers=2)
    at_once = api.get_table_data_all(saved, show="code")
    api._client.configuration["maxDataCells"] = 7
    assert sorted(map(str, api.get_table_data_all(saved, show="code"))) == sorted(map(str, at_once))


def test_a_variable_left_out_is_read_at_its_published_total(served: Served, saved: str) -> None:
    """The answer is the published total, not a sum, and the variable is gone."""
    native = cells(whole(served, saved))
    with face(served) as client:
        part = client.get(f"/tables/{saved}/data", params={"valuecodes[region]": "*"}).json()
    assert part["id"] == ["region", "ContentsCode"]
    assert cells(part) == {(r,): n for (r, s), n in native.items() if s == TOTAL}
    assert "published totals: sex" in part["note"][0]


def test_get_and_post_select_alike(served: Served, saved: str) -> None:
    """Wildcards, top(n) and codes give the same cells either way, noise columns cut alike."""
    with face(served) as client:
        asked = {"valuecodes[region]": "top(2),*9", "valuecodes[sex]": "?"}
        got = client.get(f"/tables/{saved}/data", params=asked)
        body = {
            "selection": [
                {"variableCode": "region", "valueCodes": ["top(2)", "*9"]},
                {"variableCode": "sex", "valueCodes": ["?"]},
            ]
        }
        posted = client.post(f"/tables/{saved}/data", json=body)
    assert got.status_code == posted.status_code == 200
    assert got.json() == posted.json()
    part, full = got.json(), whole(served, saved)
    native = cells(full)
    assert cells(part) == {key: native[key] for key in cells(part)}
    assert len(part["value"]) == part["size"][0] * part["size"][1] == 12
    assert part["size"][2] == 1
    sds = dict(zip(native, full["extension"]["noise"]["sd"], strict=True))
    assert part["extension"]["noise"]["sd"] == [sds[key] for key in cells(part)]


def test_percentages_are_cut_with_the_selection(served: Served) -> None:
    """Each percentage, and each end of its interval, stays with its cell; metadata hold none."""
    saved = save(served, "deaths", {**RECIPE, "percent": "rows"})
    with face(served) as client:
        part = client.get(
            f"/tables/{saved}/data?valuecodes[region]=top(3)&valuecodes[sex]=M"
        ).json()
        metadata = client.get(f"/tables/{saved}/metadata").json()
    full = whole(served, saved)
    for name in ("value", "lower", "upper"):
        every = dict(zip(cells(full), full["extension"]["percent"][name], strict=True))
        assert part["extension"]["percent"][name] == [every[key] for key in cells(part)]
    assert len(part["value"]) == 3
    assert "percent" not in metadata["extension"]


def test_percentages_of_a_part_without_its_totals_are_in_every_file(served: Served) -> None:
    """They are of totals that the part does not have, so they come as they were published."""
    saved = save(served, "deaths", {**RECIPE, "percent": "rows"})
    selected = {"valuecodes[region]": "E12*", "valuecodes[sex]": "F,M"}
    with face(served) as client:
        address = f"/tables/{saved}/data"
        part = client.get(address, params=selected).json()["extension"]["percent"]
        files = {
            form: client.get(address, params={**selected, "outputFormat": form})
            for form in ("csv", "parquet", "px", "xlsx", "html")
        }
    assert {file.status_code for file in files.values()} == {200}
    read = {
        "csv": list(csv_reader(io.StringIO(files["csv"].text))),
        "parquet": pq.read_table(io.BytesIO(files["parquet"].content)).to_pylist(),
    }
    for rows in read.values():
        for column, name in (("percent", "value"), ("percent_upper", "upper")):
            assert [float(row[column]) for row in rows] == part[name]


def test_variables_are_named_in_the_order_of_the_table(served: Served) -> None:
    """As the table was laid out, not as its question is written; links keep the language."""
    saved = save(served, "deaths", {"rows": ["sex"], "columns": ["region"]})
    with face(served) as client:
        one = client.get(f"/tables/{saved}?lang=en").json()
        data = client.get(f"/tables/{saved}/data").json()
    labels = [data["dimension"][name]["label"] for name in data["id"] if name != "ContentsCode"]
    assert one["variableNames"] == labels
    assert data["id"][:2] == ["sex", "region"]
    assert all("lang=en" in link["href"] for link in one["links"])


@pytest.mark.parametrize("title", ["", "Mine"])
@pytest.mark.parametrize(
    "recipe",
    [
        RECIPE,
        {**RECIPE, "where": {"month": ["1", "2"]}},
        {"rows": ["sex"], "columns": ["region"], "sort": "total,up"},
        {**RECIPE, "title": "Its own"},
        {"rows": ["sex"], "columns": ["age"], "layers": ["region"]},
    ],
)
def test_a_table_is_called_the_same_everywhere(
    served: Served, title: str, recipe: dict[str, Any]
) -> None:
    """In the list, by itself and with its data, in every language, its filters said."""
    saved = save(served, "deaths", recipe, title=title)
    with face(served) as client:
        for lang in ("en", "de"):
            listed = client.get(f"/tables?lang={lang}&pageSize=1000").json()["tables"]
            labels = {
                next(table["label"] for table in listed if table["id"] == saved),
                client.get(f"/tables/{saved}?lang={lang}").json()["label"],
                client.get(f"/tables/{saved}/data?lang={lang}").json()["label"],
            }
            assert len(labels) == 1, labels


def test_what_a_table_counts_is_in_its_title_everywhere(served: Served) -> None:
    """A table of a private attribute says so in lists too, its variables in the order asked."""
    recipe = {"rows": ["hair"], "columns": ["eyes"], "where": {"town": ["south"]}}
    with served.client("ana") as client:
        client.post("/datasets/genes/tables", json=recipe).raise_for_status()
    saved = save(served, "genes", recipe, title="")
    with face(served, "ana") as client:
        label = client.get(f"/tables/{saved}").json()["label"]
        assert label == client.get(f"/tables/{saved}/data").json()["label"]
    assert "by hair and eyes (town: Southby): number with Gene" in label


def test_a_table_is_as_new_as_the_figures_in_it() -> None:
    """Data loaded after a table was saved make it new; a table saved after they were, too."""
    for saved, loaded, newest in (
        (1_700_000_000, "2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05+00:00"),
        (1_900_000_000, "2026-01-02T03:04:05+00:00", "2030-03-17T17:46:40+00:00"),
    ):
        asking = SimpleNamespace(data=SimpleNamespace(manifest=SimpleNamespace(loaded=loaded)))
        table = SharedTable(SimpleNamespace(created=saved), asking)  # type: ignore[arg-type]
        assert table.updated.isoformat() == newest


def test_tables_of_the_last_days_are_those_whose_figures_changed(
    served: Served, saved: str
) -> None:
    with face(served) as client:
        listed = client.get("/tables?pastDays=1&pageSize=100").json()["tables"]
        never = client.get("/tables?pastDays=0&pageSize=100").json()["tables"]
        one = client.get(f"/tables/{saved}").json()
    assert saved in [table["id"] for table in listed]
    assert saved not in [table["id"] for table in never]
    assert one["updated"] == next(t["updated"] for t in listed if t["id"] == saved)


def test_config_and_metadata_say_what_readers_need(served: Served, saved: str) -> None:
    with face(served) as client:
        config = client.get("/config").json()
        metadata = client.get(f"/tables/{saved}/metadata").json()
        one = client.get(f"/tables/{saved}").json()
    assert config["apiVersion"].startswith("2.")
    assert config["maxDataCells"] > 0
    assert metadata["value"] == []
    assert metadata["role"]["metric"] == ["ContentsCode"]
    assert metadata["dimension"]["sex"]["extension"]["elimination"] is True
    assert metadata["extension"]["px"]["aggregallowed"] is False
    assert one["variableNames"]
    assert {link["rel"] for link in one["links"]} == {
        "self",
        "metadata",
        "data",
        "defaultselection",
    }


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("valuecodes[regoin]=*", "Did you mean region"),
        ("valuecodes[region]=E1200000X", "has no code"),
        ("valuecodes[region]=zz*", "No code of region fits"),
        ("valuecodes[region]=", "holds no code"),
        ("valuecodes[region]=top(x)", "top takes a number"),
        ("valuecodes[region]=range(a)", "range takes two codes"),
        ("codelist[region]=vs_x", "region has no code list 'vs_x'"),
        ("outputFormat=json-px", "json-stat2"),
        ("outputFormat=csv&outputFormatParams=Loud", "outputFormatParams are UseCodes"),
        (
            "outputFormat=csv&outputFormatParams=UseCodes&outputFormatParams=UseTexts",
            "only one can be said",
        ),
        ("valuecodes[sex]=F&valuecodes[SEX]=M", "selected twice"),
        ("valuecodes=F", "valuecodes names a variable: valuecodes[sex]=…, got 'valuecodes'"),
        ("codelist[]=x", "codelist names a variable"),
    ],
)
def test_bad_selections_get_one_sentence(
    served: Served, saved: str, query: str, words: str
) -> None:
    with face(served) as client:
        answer = client.get(f"/tables/{saved}/data?{query}")
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert words in answer.json()["detail"]


def test_a_parameter_that_is_wrong_is_named(served: Served) -> None:
    """Also one that is called as the place it stands in."""
    with face(served) as client:
        for name, wrong in (("query", "x" * 201), ("pageSize", "many")):
            answer = client.get("/tables", params={name: wrong})
            assert (answer.status_code, answer.json()["where"]) == (400, name)
            assert answer.json()["detail"].startswith(f"{name}: ")


def test_what_is_not_shared_or_not_public_is_not_there(served: Served, saved: str) -> None:
    """A private saved table, another data set's, and one that never was: the same 404."""
    private = save(served, "deaths", RECIPE, shared=False)
    other = save(served, "deaths-dp", {**RECIPE, "epsilon": "0.1"})
    with face(served) as client:
        listed = [table["id"] for table in client.get("/tables?pageSize=1000").json()["tables"]]
        answers = [client.get(f"/tables/{one}/data") for one in (private, other, "0" * 16)]
    assert saved in listed
    assert private not in listed
    assert other not in listed
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.text for answer in answers}) == 1


def test_reading_here_never_spends(served: Served) -> None:
    """A table that would be charged is not served until its question has been answered elsewhere."""
    identity = save(served, "deaths-dp", {"rows": ["sex"], "epsilon": "0.125"})
    with face(served, "ana") as client, served.client("ana") as native:
        before = native.get("/datasets/deaths-dp/budget").text
        refused = client.get(f"/tables/{identity}/data")
        assert refused.status_code == 404
        assert "would spend budget" in refused.json()["detail"]
        assert identity not in client.get("/tables?pageSize=1000").text
        assert native.get("/datasets/deaths-dp/budget").text == before
        charged = native.get(f"/saved/{identity}/table")
        assert charged.headers["Discreet-Charged"] == "yes"
        read = client.get(f"/tables/{identity}/data")
    assert read.status_code == 200
    assert read.json()["value"] == charged.json()["value"]


CODES = ["N1", "N2", "S1", "9", "a,b", TOTAL]


def test_expressions_mean_what_pxweb_says() -> None:
    """Each expression on a list where the answer is plain."""
    for text, wanted in {
        "*": [0, 1, 2, 3, 4, 5],
        "N*": [0, 1],
        "?1": [0, 2],
        "top(2)": [0, 1],
        "top(2,1)": [1, 2],
        "bottom(2)": [3, 4],
        "from(S1)": [2, 3, 4],
        "to(N2)": [0, 1],
        "range(N2,9)": [1, 2, 3],
        "[a,b]": [4],
        "[range(N2,9)]": [1, 2, 3],
        "[TOP(1)],[n2]": [0, 1],
        "n*": [0, 1],
        "N1,_T": [0, 5],
        "S1,N1,S1": [0, 2],
    }.items():
        assert select(split(text), CODES, "v") == wanted, text


def test_a_code_with_brackets_inside_is_one_part() -> None:
    """What looks like a call is one only where it ends; a range in brackets may hold more of them."""
    assert split("75(A)+,Wales(North)x,top(2)") == ["75(A)+", "Wales(North)x", "top(2)"]
    assert split("[range([x],[y])],[range((1, 5],(5, 9])],c") == [
        "[range([x],[y])]",
        "[range((1, 5],(5, 9])]",
        "c",
    ]
    codes = ["[x]", "(1, 5]", "[y]", "75(A)+", "c"]
    assert select(split("[range([x],[y])],75(A)+"), codes, "v") == [0, 1, 2, 3]


def test_codes_that_hold_brackets_and_commas_can_be_selected() -> None:
    """Bands as `pandas.cut` names them, alone and as the ends of a range."""
    bands = ["[0,10)", "(10,20]", "(20,30]", TOTAL]
    for text, wanted in {
        "[(10,20]]": [1],
        "[[0,10)],[(20,30]]": [0, 2],
        "[range([0,10),(10,20])]": [0, 1],
        "[(10*]": [1],
    }.items():
        assert select(split(text), bands, "band") == wanted, text


def test_a_long_selection_costs_no_more_than_its_codes_and_parts() -> None:
    """Ten thousand parts over fifty thousand codes; patterns, which cost most, are bounded."""
    codes = [f"c{i}" for i in range(50_000)]
    for parts, chosen in (
        ([f"C{i}" for i in range(10_000)], 10_000),
        ([f"range(c{i},C49999)" for i in range(10_000)], 50_000),
        ([f"top(9,{i})" for i in range(10_000)], 10_008),
    ):
        assert len(select(parts, codes, "v")) == chosen
    with pytest.raises(InputError, match="more than 100 patterns"):
        select([f"c{i}*" for i in range(101)], codes, "v")


def test_a_range_of_commas_takes_no_more_memory_than_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Codes may hold commas, so every comma may part the two; only some are tried."""
    tried: list[str] = []
    found = _Codes._found
    monkeypatch.setattr(_Codes, "_found", lambda own, code: tried.append(code) or found(own, code))
    with pytest.raises(InputError, match="no code"):
        select([f"range({',' * 100_000})"], ["a", "b,c"], "v")
    assert len(tried) <= 50
    assert select(["range(a,b,c)"], ["a", "x", "b,c"], "v") == [0, 1, 2]


@given(st.text(max_size=40), st.lists(st.text(max_size=5), min_size=1, max_size=4, unique=True))
def test_no_selection_breaks_the_reader(text: str, codes: list[str]) -> None:
    """Whatever is sent, the answer is positions in order or one sentence."""
    with contextlib.suppress(InputError):
        found = select(split(text), codes, "v")
        assert found == sorted(set(found))
        assert all(0 <= place < len(codes) for place in found)


def test_the_top_of_time_is_what_is_latest() -> None:
    years = ["2019", "2020", "2021", TOTAL]
    assert select(["top(2)"], years, "year", periods=years[:3]) == [1, 2]
    assert select(["bottom(1)"], years, "year", periods=years[:3]) == [0]
    assert select(["top(1,1)"], years, "year", periods=years[:3]) == [1]
    open_end = ["2019", "2020", "_U", TOTAL]
    for text, wanted in {"top(1)": [1], "bottom(9)": [0, 1], "from(2020)": [1], "_U": [2]}.items():
        assert select([text], open_end, "year", periods=open_end[:2]) == wanted, text
    assert select(["bottom(1)"], open_end, "year") == [2]
    dataset = {
        "id": ["year", "ContentsCode"],
        "size": [3, 1],
        "role": {"time": ["year"], "metric": ["ContentsCode"]},
        "dimension": {
            "year": {"category": {"index": years[:3], "label": {y: y for y in years}}},
            "ContentsCode": {"category": {"index": ["count"], "label": {"count": "deaths"}}},
        },
        "value": [1, 2, 3],
    }
    for name in ("year", "YEAR", "time"):
        assert cut(dataset, {name: ["top(1)"]})["value"] == [3]


def test_what_is_unknown_is_no_period() -> None:
    """Neither the last period of a table nor, at the level it is read at, the top of time."""
    year = Level(
        "year",
        Text.of("Year"),
        (Category.of("2019"), Category.of("2020"), replace(Category.of("_U"), missing=True)),
        (0, 1, 2),
    )
    assert shown_as_time(year) == ["2019", "2020"]


def shown_as_time(level: Level) -> list[str]:
    """The periods of a table that shows this level, as expressions and its facts take them."""
    axis = Axis(Variable(level.name, level.label, (level,), kind="time"), level)
    unfiltered = SimpleNamespace(
        recipe=SimpleNamespace(question=SimpleNamespace(tables=[SimpleNamespace(where=())])),
        data=SimpleNamespace(description=SimpleNamespace(kept=lambda count: (None,))),
    )
    table = SharedTable(SimpleNamespace(), unfiltered)  # type: ignore[arg-type]
    table.__dict__.update(axes=(axis,), dimensions={"yr": axis})
    assert periods_of(table, {}) == {"yr": table.periods}
    return table.periods


@pytest.mark.parametrize(
    ("listed", "earliest"),
    [
        (["2022", "2021", "2020"], ["2020", "2021", "2022"]),
        (["2020-Q2", "2019-Q4", "2020-Q1"], ["2019-Q4", "2020-Q1", "2020-Q2"]),
        (["later", "before"], ["later", "before"]),
    ],
)
def test_periods_are_in_the_order_of_time(listed: list[str], earliest: list[str]) -> None:
    """However a description lists them; what nobody can place stays as it is listed."""
    level = Level(
        "year", Text.of("Year"), tuple(map(Category.of, listed)), tuple(range(len(listed)))
    )
    assert shown_as_time(level) == earliest


def test_time_is_no_order_of_numbers() -> None:
    """A table that is sorted by its numbers, or newest first, has the same latest year."""
    sorted_down = ["2021", "2019", "_U", "2022", "2020", TOTAL]
    periods = ["2019", "2020", "2021", "2022"]
    for text, wanted in {
        "top(1)": {"2022"},
        "top(1,1)": {"2021"},
        "bottom(2)": {"2019", "2020"},
        "from(2021)": {"2021", "2022"},
        "to(2020)": {"2019", "2020"},
        "range(2020,2021)": {"2020", "2021"},
        "range(2022,2021)": {"2021", "2022"},
    }.items():
        chosen = select([text], sorted_down, "year", periods=periods)
        assert {sorted_down[place] for place in chosen} == wanted, text
        assert chosen == sorted(chosen)


def test_a_sorted_table_is_selected_by_time(served: Served) -> None:
    recipe = {"rows": ["month"], "columns": ["sex"], "sort": "total,down"}
    sorted_down = save(served, "deaths", recipe)
    with face(served) as client:
        part = client.get(
            f"/tables/{sorted_down}/data?valuecodes[month]=top(2)&valuecodes[sex]=_T"
        ).json()
        full = client.get(f"/tables/{sorted_down}/data").json()
    months = list(full["dimension"]["month"]["category"]["index"])[:-1]
    assert months != sorted(months, key=int)
    assert set(part["dimension"]["month"]["category"]["index"]) == {"11", "12"}


def test_variables_of_any_name_have_a_dimension_of_their_own() -> None:
    """Named as a column of files, as what a table counts, or both alike but for case."""
    named = ("status", "ContentsCode", "region", "Region")
    axes = tuple(Axis(one, one.finest) for one in (variable(name, ["a"]) for name in named))
    recipe = SimpleNamespace(layouts=[SimpleNamespace(percent="")])
    table = SharedTable(SimpleNamespace(id="t"), SimpleNamespace(recipe=recipe))  # type: ignore[arg-type]
    table.__dict__["axes"] = axes
    names = list(table.dimensions)
    assert names == ["status_code", "ContentsCode_code", "region", "Region_code"]
    assert tuple(table.dimensions.values()) == axes
    assert len({code_list_id(table, name, "level").casefold() for name in names}) == 4
    whole = {
        "id": [*named, "measure"],
        "dimension": {name: {"label": name} for name in (*named, "measure")},
        "role": {"time": ["Region"], "metric": ["measure"]},
        "extension": {"layout": {"layers": [], "rows": ["status"], "columns": list(named[1:])}},
    }
    told = renamed(whole, names)
    assert told["id"] == [*names, "measure"]
    assert told["dimension"]["Region_code"] == {"label": "Region"}
    assert told["role"] == {"time": ["Region_code"], "metric": ["measure"]}
    assert told["extension"]["layout"]["columns"] == names[1:]


def test_labels_that_readers_would_take_for_one_are_told_apart() -> None:
    """Of two variables, of one and what is counted, and of one and the numbers themselves."""
    names = ["a", "b", "c", "d", "e"]
    labels = ["Sex", "Sex", "contents", "value", "Age"]
    told = told_apart(labels, names, "contents")
    assert told == ["Sex (a)", "Sex (b)", "contents (c)", "value (d)", "Age"]
    assert len({*told, "contents", "value"}) == len(names) + 2


def test_every_format_of_a_part_holds_the_same_numbers(served: Served, saved: str) -> None:
    """Cut as JSON-stat is cut; a part carries no law, whose places are those of the whole table."""
    chosen = "valuecodes[region]=top(3),_T&valuecodes[sex]=[range(F,M)]"
    with face(served) as client:
        part = client.get(f"/tables/{saved}/data?{chosen}").json()
        csv = client.get(f"/tables/{saved}/data?{chosen}&outputFormat=csv")
        others = {
            name: client.get(f"/tables/{saved}/data?{chosen}&outputFormat={name}")
            for name in ("px", "xlsx", "parquet", "html")
        }
        config = client.get("/config").json()
        whole_csv = client.get(f"/tables/{saved}/data?outputFormat=CSV")
    assert set(config["dataFormats"]) == {"json-stat2", "csv", *others}
    assert "law" not in part["extension"]
    assert part["dimension"]["ContentsCode"]["category"]["unit"]["count"]["decimals"] == 0
    rows = list(csv_reader(io.StringIO(csv.text)))
    assert [int(row["count"]) for row in rows] == part["value"]
    assert {answer.status_code for answer in others.values()} == {200}
    frame = pq.read_table(io.BytesIO(others["parquet"].content)).to_pylist()
    assert [row["count"] for row in frame] == part["value"]
    native = whole(served, saved)
    assert [int(row["count"]) for row in csv_reader(io.StringIO(whole_csv.text))] == native["value"]


def test_a_default_selection_and_a_body_of_nothing_are_the_whole_table(
    served: Served, saved: str
) -> None:
    with face(served) as client:
        told = client.get(f"/tables/{saved}/defaultselection").json()
        by_default = client.post(
            f"/tables/{saved}/data",
            json={"selection": told["selection"], "placement": told["placement"], "more": 1},
        )
        without = client.post(f"/tables/{saved}/data")
        wrong = client.get("/tables?pageNumber=zero")
        other = client.request("OPTIONS", f"/tables/{saved}/data")
    assert by_default.json()["value"] == without.json()["value"] == whole(served, saved)["value"]
    assert (wrong.status_code, other.status_code) == (400, 405)
    assert other.headers["Allow"] == "GET, HEAD, POST"


def test_names_are_read_in_any_case(served: Served, saved: str) -> None:
    """Of parameters, of a body's members and of code lists, as PxWeb's own server reads them."""
    body = {"Selection": [{"VARIABLECODE": "sex", "ValueCodes": ["f"]}]}
    with face(served) as client:
        csv = client.get(f"/tables/{saved}/data?outputformat=csv&ValueCodes[SEX]=f")
        posted = client.post(f"/tables/{saved}/data?OUTPUTFORMAT=csv", json=body)
        paged = client.get("/tables?pagesize=1&LANG=de").json()
        metadata = client.get(f"/tables/{saved}/metadata").json()
        (listed, *_) = metadata["dimension"]["region"]["extension"]["codeLists"]
        level = client.get(f"/tables/{saved}/data?codeList[Region]={listed['id'].upper()}")
    assert (
        csv.headers["content-type"] == posted.headers["content-type"] == "text/csv; charset=utf-8"
    )
    assert csv.text == posted.text
    assert len(csv.text.splitlines()) == 2
    assert (len(paged["tables"]), paged["language"]) == (1, "de")
    assert level.status_code == 200


def test_a_variable_posted_without_codes_is_left_out(served: Served, saved: str) -> None:
    """As PxWeb's page sends it: read at its total; one that is not there is still refused."""
    with face(served) as client:
        part = client.post(
            f"/tables/{saved}/data",
            json={
                "selection": [
                    {"variableCode": "region", "valueCodes": ["top(2)"]},
                    {"variableCode": "sex", "valueCodes": []},
                ]
            },
        ).json()
        same = client.get(f"/tables/{saved}/data?valuecodes[region]=top(2)").json()
        nothing = {"selection": [{"variableCode": "nope", "valueCodes": []}]}
        unknown = client.post(f"/tables/{saved}/data", json=nothing)
        half = client.post(f"/tables/{saved}/data", json={"selection": [{"variableCode": "sex"}]})
    assert part == same
    assert (unknown.status_code, half.status_code) == (400, 400)
    assert "no variable 'nope'" in unknown.json()["detail"]
    assert half.json()["detail"] == "valueCodes is missing."


def test_a_language_that_is_not_there_is_not_claimed(served: Served, saved: str) -> None:
    with face(served) as client:
        listed = client.get("/tables?lang=xx").json()
        one = client.get(f"/tables/{saved}?lang=xx").json()
        data = client.get(f"/tables/{saved}/data?lang=xx").json()
    assert one["language"] == data["extension"]["px"]["language"] == listed["language"] == "en"
    assert {link["hreflang"] for link in one["links"]} == {"en"}


def test_what_is_added_for_readers_is_in_their_language(served: Served, saved: str) -> None:
    """What a table counts, and that a part is one, as everything else in the table."""
    with face(served) as client:
        part = client.get(f"/tables/{saved}/data?lang=de&valuecodes[region]=top(1)").json()
    contents = part["dimension"]["ContentsCode"]
    assert (contents["label"], contents["category"]["label"]) == ("Inhalt", {"count": "Anzahl"})
    assert part["note"][0].startswith("Dies ist ein Teil einer Tabelle")
    assert part["note"][0].endswith("Summe gelesen: sex.")


def test_a_variable_without_total_must_be_selected() -> None:
    dataset = {
        "id": ["a", "b"],
        "size": [2, 2],
        "dimension": {
            name: {"category": {"index": ["x", last], "label": {"x": "X", last: "L"}}}
            for name, last in (("a", TOTAL), ("b", "y"))
        },
        "value": [1, 2, 3, 4],
        "status": {"3": "u"},
    }
    with pytest.raises(InputError, match="b has no total, so it cannot be left out"):
        cut(dataset, {"a": ["x"]})
    part = cut(dataset, {"b": ["y"]})
    assert (part["id"], part["value"], part["status"]) == (["b"], [4], {"0": "u"})


def test_a_code_list_is_another_level_of_the_same_table(served: Served, saved: str) -> None:
    """Its numbers are those of that level asked for itself, never sums; pxwebpy reads both."""
    api = PxApi(f"{served.url}/pxweb/v2", disable_cache=True)
    told = api.get_table_variables(saved)["region"]["codelists"]
    by_level = {one["id"].rpartition(":")[2]: one["id"] for one in told}
    assert "ccg" in by_level, by_level
    listed = api.get_code_list(by_level["ccg"])
    assert listed["type"] == "Valueset"
    regions = set(api.get_table_metadata(saved)["dimension"]["region"]["category"]["index"])
    assert {code for value in listed["values"] for code in value["valueMap"]} <= regions
    native = save(served, "deaths", {"rows": ["area:ccg"], "columns": ["sex"]})
    with face(served) as client:
        whole_level = client.get(
            f"/tables/{saved}/data", params={"codelist[region]": by_level["ccg"]}
        ).json()
        part = client.post(
            f"/tables/{saved}/data",
            json={
                "selection": [
                    {
                        "variableCode": "region",
                        "codeList": by_level["ccg"],
                        "valueCodes": ["top(3)"],
                    }
                ]
            },
        ).json()
        asked = client.get(f"/tables/{native}/data").json()
        described = client.get(
            f"/tables/{saved}/metadata", params={"codelist[region]": by_level["ccg"]}
        ).json()
        unknown = client.get(f"/codelists/{saved}:region:none")
        nothing = client.get(f"/tables/{saved}/data", params={"codelist[region]": ""})
    assert whole_level["id"] == ["region", "sex", "ContentsCode"]
    assert whole_level["value"] == asked["value"]
    assert part["value"] == [whole_level["value"][3 * i + 2] for i in range(3)]
    assert described["dimension"]["region"]["category"]["index"].keys() == (
        asked["dimension"]["ccg"]["category"]["index"].keys()
    )
    assert (unknown.status_code, nothing.status_code) == (404, 200)


def test_a_coarser_code_list_names_what_lies_in_it(served: Served) -> None:
    fine = save(served, "deaths", {"rows": ["area:ccg"], "columns": ["sex"]})
    with face(served) as client:
        listed = client.get(f"/codelists/{fine}:ccg:region").json()
        metadata = client.get(f"/tables/{fine}/metadata").json()
    codes = [code for value in listed["values"] for code in value["valueMap"]]
    own = [c for c in metadata["dimension"]["ccg"]["category"]["index"] if c != TOTAL]
    assert listed["type"] == "Aggregation"
    assert sorted(codes) == sorted(own)
    assert (listed["elimination"], listed["eliminationValueCode"]) == (True, TOTAL)


def test_what_a_filter_leaves_out_is_in_no_list(served: Served) -> None:
    """Neither in a code list, whose every code can be asked for, nor among a table's periods."""
    recipe = {"rows": ["ccg"], "where": {"region": ["London"]}}
    saved = save(served, "deaths", recipe)
    with face(served) as client:
        own = list(
            client.get(f"/tables/{saved}/data").json()["dimension"]["ccg"]["category"]["index"]
        )
        regions = client.get(f"/codelists/{saved}:ccg:region").json()["values"]
        asked = {"codelist[ccg]": f"{saved}:ccg:region"}
        read = client.get(f"/tables/{saved}/data", params=asked).json()
        months = save(served, "deaths", {"rows": ["month"], "where": {"month": ["2", "3"]}})
        dated = client.get(f"/tables/{months}").json()
    shown = [code for code in read["dimension"]["ccg"]["category"]["index"] if code != TOTAL]
    assert [one["code"] for one in regions] == shown
    assert [code for one in regions for code in one["valueMap"]] == own[:-1]
    assert (dated["firstPeriod"], dated["lastPeriod"]) == ("2", "3")


def test_a_code_list_that_would_spend_is_not_offered(served: Served) -> None:
    """Of an answered table, another level was not answered: it is neither named nor read."""
    identity = save(served, "deaths-dp", {"rows": ["area:region"], "epsilon": "0.0625"})
    with face(served, "ana") as client, served.client("ana") as native:
        native.get(f"/saved/{identity}/table").raise_for_status()
        before = native.get("/datasets/deaths-dp/budget").text
        metadata = client.get(f"/tables/{identity}/metadata").json()
        refused = client.get(
            f"/tables/{identity}/data", params={"codelist[region]": f"{identity}:region:ccg"}
        )
        assert native.get("/datasets/deaths-dp/budget").text == before
    assert metadata["dimension"]["region"]["extension"]["codeLists"] == []
    assert (refused.status_code, "would spend budget" in refused.json()["detail"]) == (400, True)


def test_a_saved_query_is_its_own_name(served: Served, saved: str) -> None:
    """Anybody saves one, nothing is kept, and it answers as the query would."""
    selection = {"selection": [{"variableCode": "region", "valueCodes": ["top(2)"]}]}
    query = {"tableId": saved, "language": "en", "selection": selection, "outputFormat": "csv"}
    with face(served) as client:
        made = client.post("/savedqueries", json=query)
        again = client.post("/savedqueries", json={**query, "id": "other"})
        name = made.json()["id"]
        back = client.get(f"/savedqueries/{name}").json()
        chosen = client.get(f"/savedqueries/{name}/selection").json()
        data = client.get(f"/savedqueries/{name}/data")
        as_json = client.get(f"/savedqueries/{name}/data?outputFormat=json-stat2").json()
        direct = client.get(f"/tables/{saved}/data?valuecodes[region]=top(2)").json()
        wrong = client.post("/savedqueries", json={**query, "tableId": "0" * 16})
        bad = client.post(
            "/savedqueries",
            json={
                **query,
                "selection": {"selection": [{"variableCode": "regoin", "valueCodes": ["*"]}]},
            },
        )
        long = client.post(
            "/savedqueries",
            json={
                **query,
                "selection": {
                    "selection": [
                        {
                            "variableCode": "region",
                            "valueCodes": [f"{i:x}{i**3:x}" for i in range(9000)],
                        }
                    ]
                },
            },
        )
        names = ["", "x", "AAAA", name[:-4], name + "AAAA", "é", "=" * 30]
        garbage = {client.get(f"/savedqueries/{one}").status_code for one in names}
    assert (made.status_code, again.json()["id"]) == (201, name)
    assert made.headers["Location"].endswith(name)
    assert (back["tableId"], back["selection"]["selection"]) == (
        saved,
        selection["selection"],
    )
    assert chosen["selection"] == selection["selection"]
    assert [int(row["count"]) for row in csv_reader(io.StringIO(data.text))] == direct["value"]
    assert as_json["value"] == direct["value"]
    assert (wrong.status_code, bad.status_code, long.status_code) == (400, 400, 400)
    assert "too long to be saved" in long.json()["detail"]
    assert garbage == {404}


def test_csv_comes_with_the_separator_and_the_columns_asked_for(served: Served, saved: str) -> None:
    with face(served) as client:
        answer = client.get(
            f"/tables/{saved}/data?outputFormat=csv&outputFormatParams=SeparatorSemicolon"
            "&outputFormatParams=UseTexts"
        )
        at_once = client.get(
            f"/tables/{saved}/data?outputFormat=csv&outputFormatParams=useTexts,SeparatorSemicolon"
        )
    assert at_once.text == answer.text
    head, *rows = answer.text.splitlines()
    assert head.split(";")[:3] == ["region_label", "sex_label", "count"]
    assert len(rows) == len(whole(served, saved)["value"])


def test_a_data_set_that_cannot_be_served_takes_no_other_away(fresh_demo: Path) -> None:
    """Its tables are not listed; limits and tables of the others are."""
    served = Served("", fresh_demo, add_accounts(fresh_demo))
    settings = Settings(public=("*",), calls_per_minute=10**6)
    with serving(fresh_demo, settings) as served.url:
        kept = save(served, "deaths", RECIPE)
        lost = save(served, "genes", {"rows": ["eyes"]})
        (fresh_demo / "genes" / "discreet.yaml").write_text("no: description\n")
        with face(served) as px:
            assert px.get("/config").status_code == 200
            tables = px.get("/tables")
            assert [table["id"] for table in tables.json()["tables"]] == [kept]
            assert px.get(f"/tables/{lost}/data").status_code == 503
