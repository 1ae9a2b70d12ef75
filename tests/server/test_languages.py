"""Labels in several languages: what an answer says it is in, and a language that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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


@pytest.mark.parametrize(
    "path",
    [
        "/datasets/people",
        "/datasets/people/variables",
        "/datasets/people/variables/sex",
        "/datasets/people/codelists/sex",
        "/datasets/people/tables",
        "/datasets/people/tables/metadata",
    ],
)
def test_a_language_that_is_not_there_is_said(spoken: Served, path: str):
    """One sentence with the languages there are; a header is a wish, and no labels refuse nothing."""
    rows = {"rows": "sex"} if "tables" in path else {}
    with spoken.client() as public:
        wrong = public.get(path, params={**rows, "language": "de"})
        assert wrong.status_code == 400
        assert wrong.json()["detail"] == (
            "people has no labels in the language 'de'; it has en, fr."
        )
        assert said(public.get(path, params=rows, headers={"Accept-Language": "de"}))
        plain = path.replace("people", "plain")
        assert said(public.get(plain, params={**rows, "language": "de"})) is None


def test_a_language_in_a_body_or_for_all_data_sets_must_be_there(spoken: Served):
    """The verdict, the table, a release and the list of data sets say the same."""
    body = {"rows": ["sex"], "language": "de"}
    with spoken.client("cas") as cas:
        for path in ("/datasets/people/tables", "/datasets/people/tables:check"):
            assert cas.post(path, json=body).status_code == 400
        published = {"dataset": "people", "title": "People", "recipe": body}
        assert cas.post("/releases", json=published).status_code == 400
        assert cas.get("/datasets", params={"language": "fr"}).is_success
        assert cas.get("/datasets", params={"language": "de"}).is_success  # plain may be in German
    with (
        serving(spoken.workspace, Settings(public=("people",))) as url,
        httpx.Client(base_url=f"{url}/api/v1") as public,
    ):
        wrong = public.get("/datasets", params={"language": "de"})
        assert wrong.status_code == 400
        assert wrong.json()["detail"] == (
            "No data set has labels in the language 'de'; there are en, fr."
        )


def test_labels_come_in_the_language_on_disk_too(spoken: Served, tmp_path: Path):
    """Command line and Python: `fr` is shown in files and on screen, `de` is exit 2."""
    import discreet as dc
    from discreet.errors import RecipeError

    with dc.open(spoken.workspace / "people") as people:
        table = people.table(rows=["sex"], language="fr-CA").release()
        assert "Femme" in repr(table)
        assert "Femme" in table.to_pandas().to_string()
        assert "Femme" in table._repr_html_()
        assert "Femme" in table.write(tmp_path / "t.csv").read_text("utf-8")
        assert "Femme" in next((table.write(tmp_path / "out") / "tables").glob("*.csv")).read_text()
        with pytest.raises(RecipeError, match=r"'de'; it has en, fr\.$"):
            people.table(rows=["sex"], language="de")
    words = ["table", str(spoken.workspace / "people"), "--rows", "sex", "--language", "de"]
    done = run(*words)
    assert (done.returncode, "it has en, fr" in done.stderr) == (2, True)
    with dc.open(spoken.workspace / "plain") as plain:
        assert plain.table(rows=["sex"], language="de").release()
