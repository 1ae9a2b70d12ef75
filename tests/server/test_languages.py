"""Labels in several languages: what an answer says it is in, and a language that is not there."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet import workspace
from discreet.server import Settings

from ..command import run
from ..workspace.people import YAML, make_people
from .serving import Served, add_accounts, serving

SPOKEN = YAML.replace(
    "dataset: people\n",
    "dataset: people\ntitle: {en: People, fr: Gens}\nlanguage: en\nperiod: today\n",
).replace(
    "{f: Female, m: Male}",
    "{f: {label: {en: Female, fr: Femme}}, m: {label: {en: Male, fr: Homme}}}",
)


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`people` speaks English, and French in its title and its categories of sex; `plain` no language."""
    folder = tmp_path_factory.mktemp("spoken")
    for name, yaml in (("people", SPOKEN), ("plain", YAML.replace("people\n", "plain\n", 1))):
        make_people(folder / name, yaml=yaml)
        workspace.load(folder / name)
    tokens = add_accounts(folder)
    with serving(folder, Settings(public=("*",), calls_per_minute=10**6)) as url:
        yield Served(url, folder, tokens)


def said(answer: httpx.Response) -> str | None:
    assert answer.is_success, answer.text
    return answer.headers.get("content-language")


@pytest.mark.parametrize(
    ("path", "own", "french"),
    [
        ("/datasets/people", "en", "fr"),
        ("/datasets/people/variables", "en", "fr, en"),
        ("/datasets/people/variables/area", "en", "en"),
        ("/datasets/people/codelists/sex", "en", "fr, en"),
        ("/datasets", "en", "fr"),
    ],
)
@pytest.mark.slow
def test_the_catalogue_says_its_language(spoken: Served, path: str, own: str, french: str):
    """The language of the texts shown; by parameter, or by header, of which caches are told."""
    with spoken.client() as public:
        assert said(public.get(path)) == own
        assert said(public.get(path, params={"language": "FR"})) == french
        wished = public.get(path, headers={"Accept-Language": "fr-CA, en;q=0.5"})
        assert (said(wished), "Accept-Language" in wished.headers["vary"]) == (french, True)
        assert wished.json() == public.get(path, params={"language": "fr"}).json()
        assert said(public.get("/datasets/plain/codelists/sex")) is None


@pytest.mark.slow
def test_kept_job_results_and_releases_say_their_language(spoken: Served):
    """As they were made, whatever the description says later."""
    asked = {"rows": ["sex"]}
    with spoken.client("cas") as cas:
        job = cas.post(
            "/datasets/people/tables?language=fr", json=asked, headers={"Prefer": "respond-async"}
        ).json()
        cas.get(f"/jobs/{job['id']}/events")
        kept = cas.get(f"/jobs/{job['id']}/result")
        assert (said(kept), "Femme" in kept.text) == ("fr, en", True)
        for language, told in (("fr", "fr, en"), ("FR", "fr, en"), ("", "en")):
            body = {
                "dataset": "people",
                "title": "People",
                "recipe": {**asked, "language": language},
            }
            made = cas.post("/releases", json=body).json()
            table = cas.get(f"/releases/{made['id']}/tables")
            assert (said(table), "Femme" in table.text) == (told, told != "en")
        none = {"dataset": "plain", "title": "People", "recipe": asked}
        made = cas.post("/releases", json=none).json()
        assert said(cas.get(f"/releases/{made['id']}/tables")) is None


def test_every_route_refuses_a_language_that_is_not_there(spoken: Served):
    """One sentence with the languages there are, whether labels say theirs or not."""
    document = httpx.get(f"{spoken.url}/api/v1/openapi.json", timeout=300).json()
    refused = set()
    with spoken.client("cas") as cas:
        for dataset, there in (("people", "en, fr or de"), ("plain", "en or de")):
            kept = {"dataset": dataset, "recipe": {"rows": ["sex"]}}
            saved = cas.post("/saved", json=kept).json()["id"]
            fixed = {"variable": "sex", "level": "sex", "saved": saved, "question": "0" * 64}
            for path, method in _taking_a_language(document):
                address = path.removeprefix("/api/v1").format(dataset=dataset, **fixed)
                asked = {"language": "xx"}
                asked |= {"rows": "sex"} if method == "GET" and "/tables" in path else {}
                asked |= {"query": "sex"} if address == "/search" else {}
                body = {"draft": {}} if "polic" in path else {"rows": ["sex"]}
                sent = {"json": body} if method == "POST" else {}
                answer = cas.request(method, address, params=asked, **sent)
                if answer.status_code == 404:  # keyed data have no ledger
                    assert "ledger" in path
                    continue
                of_all = "No data set is available in the language 'xx'. Choose en, fr or de."
                of_one = f"{dataset} is not available in the language 'xx'. Choose {there}."
                said = of_one if "{" in path else of_all
                assert (answer.status_code, answer.json()["detail"]) == (400, said), address
                refused.add(address)
    assert len(refused) >= 20


def _taking_a_language(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Every route with the parameter `language`."""
    return [
        (path, method.upper())
        for path, methods in document["paths"].items()
        for method, facts in methods.items()
        if any(one.get("name") == "language" for one in facts.get("parameters", ()))
    ]


def test_a_language_in_a_body_must_be_there(spoken: Served):
    """The verdict, the table, a release and a test of a table say the same."""
    body = {"rows": ["sex"], "language": "xx"}
    with spoken.client("cas") as cas:
        for name in ("people", "plain"):
            for path in ("tables", "tables:check", "tables:options"):
                assert cas.post(f"/datasets/{name}/{path}", json=body).status_code == 400
            published = {"dataset": name, "title": "People", "recipe": body}
            assert cas.post("/releases", json=published).status_code == 400
        assert cas.get("/datasets", params={"language": "fr"}).is_success
        german = {"Accept-Language": "de"}
        wrong = cas.post("/datasets/plain/tables", json=body, headers=german)
        assert "gibt es nicht in der Sprache 'xx'. Wählen Sie en oder de." in wrong.json()["detail"]


@pytest.mark.parametrize("name", ["people", "plain"])
def test_a_total_is_in_the_language_of_its_reader(spoken: Served, name: str):
    """Labels are the data set's, English here; its total is ours: API, workbook, PxWeb and page."""
    path, asked = f"/datasets/{name}/tables", {"rows": "sex", "totals": "yes"}
    german = {"Accept-Language": "de-DE, de;q=0.9, en;q=0.8"}
    with spoken.client("cas") as cas:
        own = cas.get(path, params=asked)
        wished = cas.get(path, params=asked, headers=german)
        named = cas.get(path, params={**asked, "language": "de"})
        assert named.json() == wished.json()
        labels = wished.json()["dimension"]["sex"]["category"]["label"]
        assert (labels["f"], labels["_T"]) == ("Female", "Insgesamt")
        assert own.json()["dimension"]["sex"]["category"]["label"]["_T"] == "Total"
        assert said(wished) == said(own)
        book = cas.get(path, params={**asked, "format": "xlsx"}, headers=german)
        with zipfile.ZipFile(io.BytesIO(book.content)) as sheets:
            assert "Insgesamt" in sheets.read("xl/sharedStrings.xml").decode()
        recipe = {"rows": ["sex"], "totals": True}
        saved = cas.post("/saved", json={"dataset": name, "recipe": recipe, "shared": True}).json()[
            "id"
        ]
        for lang, total in (("de", "Insgesamt"), ("en", "Total")):
            data = cas.get(f"{spoken.url}/pxweb/v2/tables/{saved}/data", params={"lang": lang})
            assert data.json()["dimension"]["sex"]["category"]["label"]["_T"] == total
    with httpx.Client(base_url=spoken.url, headers=german) as reader:
        page = reader.get(f"/build/{name}", params={"rows": "sex", "totals": "yes"}).text
        assert ">Insgesamt<" in page
        assert ">Total<" not in page
        assert "language=" not in page.partition("<table")[2]  # an address has no reader's language
        file = {"rows": "sex", "totals": "yes", "format": "csv"}
        assert "Insgesamt" in reader.get(f"/build/{name}/file", params=file).text


def test_a_header_keeps_labels_in_the_language_wished_for(spoken: Served):
    """French labels are wished for, if second: they are not given up for German totals."""
    wished = {"Accept-Language": "de, fr;q=0.5"}
    with spoken.client() as public:
        table = public.get("/datasets/people/tables?rows=sex&totals=yes", headers=wished)
        labels = table.json()["dimension"]["sex"]["category"]["label"]
        assert labels["f"] == "Femme"


def test_labels_come_in_the_language_on_disk_too(spoken: Served, tmp_path: Path):
    """Command line and Python: `fr` in files and on screen, `de` in totals, `xx` is exit 2."""
    import discreet as dc
    from discreet.errors import RecipeError

    with dc.open(spoken.workspace / "people") as people:
        table = people.table(rows=["sex"], language="fr-CA").release()
        assert "Femme" in repr(table)
        assert "Femme" in table.to_pandas().to_string()
        assert "Femme" in table._repr_html_()
        assert "Femme" in table.write(tmp_path / "t.csv").read_text("utf-8")
        assert "Femme" in next((table.write(tmp_path / "out") / "tables").glob("*.csv")).read_text()
        with pytest.raises(RecipeError, match=r"'xx'. Choose en, fr or de\.$"):
            people.table(rows=["sex"], language="xx")
    for name in ("people", "plain"):
        words = ["table", str(spoken.workspace / name), "--rows", "sex", "--language"]
        german = run(*words, "de")
        assert (german.returncode, "Insgesamt" in german.stdout) == (0, True)
        assert "Female" in german.stdout
        done = run(*words, "xx")
        assert (done.returncode, "is not available in the language 'xx'" in done.stderr) == (
            2,
            True,
        )
