"""What is written reads back equal; what is wrong is told with file, line and the way out."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.family import Family
from discreet.core.loss import ApproxLoss, Loss, PureLoss, ZcdpLoss
from discreet.core.text import Text
from discreet.errors import DescriptionError, InputError
from discreet.file_names import DESCRIPTION
from discreet.workspace.description_file import DescribedData, read
from discreet.workspace.draft import CategoryDraft, Draft, LevelDraft, VariableDraft, WeightDraft
from discreet.workspace.writer import write

from ..examples import examples

PLAIN = """\
dataset: town
title: {en: A town, fr: Une ville}
source: {file: people.csv}
id: person
variables:
  area:
    levels:
      ward:
        column: ward
        categories:
          w1: {label: One, parent: north, population: 100}
          w2: {label: Two, parent: north, population: 50}
          w3: {label: Three, parent: south, population: 70}
          NA: {label: Unknown, parent: NA}
      side:
        column: side
        categories: {north: North, south: South, NA: Unknown}
      halves:
        of: ward
        categories:
          old: {label: Old town, members: [w1, w3]}
          new: {label: New town, members: [w2, NA]}
    missing: [NA, "-9"]
  sex:
    column: sex
    status: declared
    role: private
    categories: [f, m, x]
    other: x
structural_zeros:
  - where: {side: [north], sex: [x]}
    reason: an example
"""


def described(tmp_path: Path, text: str) -> DescribedData:
    (tmp_path / DESCRIPTION).write_text(text, encoding="utf-8")
    return read(tmp_path)


def test_a_description_is_what_the_file_says(tmp_path: Path) -> None:
    got = described(tmp_path, PLAIN)
    area, sex = got.description.variables
    assert got.description.title.says("fr") == "Une ville"
    assert [level.name for level in area.levels] == ["ward", "side", "halves"]
    assert area.levels[1].of_finest == (0, 0, 1, 2)
    assert area.levels[2].of_finest == (0, 1, 0, 1)
    assert [c.missing for c in area.finest.categories] == [False, False, False, True]
    assert [c.missing for c in area.levels[1].categories] == [False, False, True]
    assert [c.missing for c in area.levels[2].categories] == [False, False]
    assert [c.population for c in area.levels[1].categories] == [150, 70, None]
    assert not area.declared
    assert sex.declared
    assert sex.role == "private"
    coding = got.coding
    assert coding.id_column == "person"
    ward, second = (coding.columns[variable.name] for variable in coding.variables)
    assert (ward.missing, ward.missing_values) == (area.finest.codes[3], ("NA", "-9"))
    assert second.other == sex.finest.codes[2]
    assert ward.levels == {area.levels[1].name: "side"}
    (zero,) = got.description.structural_zeros
    assert [(c.variable, c.level, c.codes) for c in zero.conditions] == [
        ("area", "side", ("north",)),
        ("sex", "sex", ("x",)),
    ]


@pytest.mark.parametrize(
    ("said", "rate"),
    [
        ('sample: {rate: "0.1", secret: true}', Fraction(1, 10)),
        ('sample: {rate: "0.1", secret: false}', None),
        ('sample: {rate: "0.1"}', None),
        ("", None),
    ],
)
def test_a_sample_counts_where_its_members_are_secret(tmp_path: Path, said, rate) -> None:
    """The rate of a sample is a public fact that helps only while who was drawn is not."""
    assert described(tmp_path, f"{PLAIN}\n{said}\n").description.sample_rate == rate


@pytest.mark.parametrize(
    ("old", "new", "at", "says"),
    [
        ("title:", "titel:", "", "unknown key 'titel'. Did you mean title?"),
        ("    status: declared", "    statsu: declared", "", "Did you mean status?"),
        ("status: declared", "status: maybe", "", "must be found or declared"),
        ("role: private", "role: secret", "", "must be public or private"),
        ("parent: south, pop", "parent: suoth, pop", "", "'suoth', which side does not have. Did"),
        (
            "parent: south, population: 70",
            "population: 70",
            "",
            "'w3' of ward has no parent in side",
        ),
        ("members: [w2, NA]", "members: [w2, w1]", "", "'w1' of ward has two parents"),
        (
            "members: [w2, NA]",
            "members: [w2]",
            "NA: {label: Unknown, parent",
            "'NA' of ward has no parent in halves",
        ),
        ("of: ward", "of: sdie", "", "which is not a finer level"),
        ("other: x", "other: z", "", "'z', which sex does not have"),
        ('[NA, "-9"]', '[none, "-9"]', "", "'none', which ward does not have"),
        ('[NA, "-9"]', "[NA, w1]", "", "a category and also a code for missing"),
        ("[f, m, x]", "[f, m, f]", "", "'f' is listed twice"),
        ("[f, m, x]", "[f, m, x, _T]", "", "means a total"),
        ("[f, m, x]", "[]", "", "empty"),
        ("    column: sex\n", "", "sex:\n    status", "needs the column"),
        ("  sex:\n", "  ward:\n", "", "'ward' is used by area and by ward"),
        ("  sex:\n", "  2nd sex:\n", "", "must begin with a letter"),
        ("sex: [x]", "sex: [q]", "", "sex has no category 'q'"),
        ("{side: [north]", "{sid: [north]", "", "no variable or level 'sid'. Did you mean side?"),
        ("id: person", "records_per_unit: 0", "", "must be a whole number ≥ 1"),
        ("id: person", "records_per_unit: 3", "", "no id names the unit"),
        ("id: person", "family: dp", "", "needs a budget"),
        ("id: person", 'budget: {epsilon: "1"}', "", "spent by family dp only"),
        ("id: person", "method: noise", "", "belongs to family dp"),
        ("id: person", "method: nose", "", "no method 'nose'"),
        ("id: person", "family: magic", "", "family must be"),
        ("id: person", "rules: {max_variable: 3}", "", "Did you mean max_variables?"),
        ("id: person", "rules: {max_variables: many}", "", "max_variables"),
        ("id: person", "weight: {decimals: 2}", "", "weight needs the column"),
        ("id: person", "weight: {column: w, bound: -1}", "", "weight.bound must be > 0, got -1"),
        ("id: person", "sample: {secret: true}", "", "sample needs its rate"),
        ("id: person", "sample: {rate: 1, secret: true}", "", "sample needs its rate, above 0"),
        ("id: person", "sample: {rat: 0.1}", "", "Did you mean rate?"),
        ("{file: people.csv}", "{file: a, database: b}", "", "one of file and database"),
        ("{file: people.csv}", "{path: a}", "", "unknown key 'path' in source"),
        ("{file: people.csv}", "{file: a, shards: 65}", "", "from 1 to 64, got 65"),
        ("{file: people.csv}", "{file: a, shards: 0}", "", "whole number ≥ 1"),
        (
            "{file: people.csv}",
            "{database: 'postgresql://a@b/c', table: t, counting: coded, shards: 2}",
            "",
            "shards are for records that are loaded here",
        ),
    ],
)
def test_what_is_wrong_has_a_line_and_a_sentence(
    tmp_path: Path, old: str, new: str, at: str, says: str
) -> None:
    changed = PLAIN.replace(old, new, 1)
    assert changed != PLAIN
    place = changed.index(at) if at else PLAIN.index(old.lstrip(" "))
    line = changed[:place].count("\n") + 1
    with pytest.raises(DescriptionError) as caught:
        described(tmp_path, changed)
    assert says in caught.value.message
    assert caught.value.line == line, caught.value.message
    assert caught.value.message.startswith(str(tmp_path / DESCRIPTION))


def test_numbers_of_a_source_may_be_written_with_marks(tmp_path: Path) -> None:
    """Of a server: `timeout: 1,200` and `shards: 4` are whole numbers."""
    server = "{database: 'postgresql://a@b/c', table: t, timeout: '1,200', shards: 4}"
    got = described(tmp_path, PLAIN.replace("{file: people.csv}", server, 1)).source()
    assert (got.timeout, got.shards) == (1200, 4)


def test_method_parameters_are_read_by_the_method_itself(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match=r"line 5: .*max_perturbatoin"):
        described(
            tmp_path,
            PLAIN.replace("id: person", "methods:\n  cell-key: {max_perturbatoin: 5}"),
        )


def test_a_ptable_file_is_part_of_the_policy(tmp_path: Path) -> None:
    """Its name is relative to the folder; its content decides the policy's version."""
    table = "pcv,ckey,pvalue\n" + "".join(
        f"{n},{k},{0 if n == 0 else (-1, 0, 0, 1)[k % 4]}\n" for n in range(3) for k in range(256)
    )
    text = PLAIN.replace("id: person", "methods:\n  cell-key: {ptable: p.csv, keys: ons-256}")
    with pytest.raises(DescriptionError, match=r"line 5: .*must name a file inside"):
        described(tmp_path, text)
    (tmp_path / "p.csv").write_text(table)
    first = described(tmp_path, text).policy
    assert first.methods["cell-key"]["ptable"] == table
    (tmp_path / "p.csv").write_text(table.replace("2,3,1", "2,3,0").replace("2,0,-1", "2,0,0"))
    assert described(tmp_path, text).policy.version != first.version


@pytest.mark.parametrize(
    ("written", "loss"),
    [
        ('{epsilon: "10"}', PureLoss(10)),
        ("{epsilon: 0.1, delta: 1e-6}", ApproxLoss("0.1", "1e-6")),
        ("{rho: 1/3}", ZcdpLoss("1/3")),
    ],
)
def test_budgets_are_exact(
    tmp_path: Path,
    written: str,
    loss: Loss,
) -> None:
    text = PLAIN.replace("id: person", f"id: person\nfamily: dp\nbudget: {written}")
    budget = described(tmp_path, text).policy.budget
    assert budget == loss


@pytest.mark.parametrize(
    "written", ["{}", "{delta: 0.1}", "{epsilon: 1, rho: 1}", "{epsilon: -1}", "{epsilon: nan}"]
)
def test_a_budget_that_is_none_is_refused(tmp_path: Path, written: str) -> None:
    with pytest.raises(DescriptionError, match="budget"):
        described(tmp_path, PLAIN.replace("id: person", f"family: dp\nbudget: {written}"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "first line must be code,label,parent"),
        ("kode,label\n1,x\n", "first line must be"),
        ("code,label\n1,x\n1,y\n", "line 3: category '1' is listed twice"),
        ("code,label\n1\n", "line 2: 1 fields where the first line has 2"),
        ('code,label\n"1,x\n', "not a UTF-8 CSV file"),
        ("code,population\n1,few\n", "population must be a whole number"),
        (
            "code,label\n" + "".join(f"{i},x\n" for i in range(70_000)),
            "more than 60,000 categories",
        ),
    ],
)
def test_category_files_are_checked_line_by_line(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "c.csv").write_text(content, encoding="utf-8")
    with pytest.raises(DescriptionError) as caught:
        described(tmp_path, PLAIN.replace("[f, m, x]", "c.csv"))
    assert says in caught.value.message


def test_a_mapping_file_gives_parents_and_two_of_them_are_refused(tmp_path: Path) -> None:
    text = (
        "source: {file: x.csv}\nvariables:\n  area:\n    levels:\n      ward:\n        column: w\n"
        "        categories: [a, b]\n        parents: map.csv\n"
        "      side: {categories: [n, s]}\n"
    )
    (tmp_path / "map.csv").write_text("ward,side\na,n\nb,s\n")
    assert described(tmp_path, text).description.variables[0].levels[1].of_finest == (0, 1)
    (tmp_path / "map.csv").write_text("ward,side\na,n\nb,s\na,s\n")
    with pytest.raises(DescriptionError, match=r"line 4: 'a' has two parents, 'n' and 's'"):
        read(tmp_path)


def test_category_files_stay_inside_the_folder(tmp_path: Path) -> None:
    for name in ("/etc/passwd", "../secrets.csv"):
        with pytest.raises(DescriptionError, match="inside the data set's folder"):
            described(tmp_path, PLAIN.replace("[f, m, x]", name))


def test_no_description_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="discreet init"):
        read(tmp_path)


words = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Zl", "Zp", "Zs")), min_size=1,
    max_size=12,
).filter(lambda text: text == text.strip() and text != "_T")  # fmt: skip
labels = st.one_of(words, st.dictionaries(st.sampled_from(["en", "fr", "de"]), words, min_size=1))


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """Any description of one hierarchy and one plain variable, short and long code lists."""
    coarse = draw(st.lists(words, min_size=1, max_size=4, unique=True))
    fine = draw(st.lists(words, min_size=1, max_size=40, unique=True))
    area = VariableDraft(
        "area",
        [
            LevelDraft(
                "fine",
                draw(words),
                [CategoryDraft(c, draw(words), draw(st.sampled_from(coarse))) for c in fine],
                draw(words),
            ),
            LevelDraft("coarse", None, [CategoryDraft(c, draw(labels)) for c in coarse]),
        ],
        draw(labels),
        declared=draw(st.booleans()),
        kind="geography",
        missing=[fine[0], ""] if draw(st.booleans()) else [],
        comments=[draw(words)],
    )
    codes = draw(st.lists(words, min_size=1, max_size=3, unique=True))
    sex = VariableDraft(
        "sex",
        [LevelDraft("sex", draw(words), [CategoryDraft(c, draw(labels)) for c in codes])],
        role=draw(st.sampled_from(["public", "private"])),
        other=codes[-1] if draw(st.booleans()) else None,
        note=draw(words),
    )
    return Draft(
        dataset="town",
        title=draw(labels),
        source={"file": draw(words)},
        variables=[area, sex],
        synthetic=draw(st.booleans()),
        population=draw(words),
        unit=draw(words),
        records=draw(st.one_of(st.none(), st.integers(1, 10**9))),
        notes=draw(st.lists(words, max_size=2)),
        id=draw(st.one_of(st.none(), words)),
        weight=WeightDraft("w", 2, "20.5"),
        family="dp",
        method="noise",
        budget={"epsilon": "1/3"},
        rules={"max_variables": 3, "mandatory": ["sex"]},
        structural_zeros=[({"coarse": coarse[:1], "sex": codes[:1]}, draw(words))],
        left_out=[(draw(words), draw(words))],
    )


@examples(60)
@given(drafts())
def test_what_is_written_reads_back_equal(
    tmp_path_factory: pytest.TempPathFactory, draft: Draft
) -> None:
    folder = tmp_path_factory.mktemp("round")
    write(draft, folder)
    got = read(folder)
    facts, policy = got.description, got.policy
    assert facts.title == Text.of(draft.title)
    assert (facts.synthetic, facts.population, facts.unit) == (
        draft.synthetic,
        draft.population,
        draft.unit,
    )
    assert (facts.records, list(facts.notes), got.coding.id_column) == (
        draft.records,
        draft.notes,
        draft.id,
    )
    assert facts.weight is not None
    assert (facts.weight.scale, facts.weight.bound) == (100, Fraction(41, 2))
    assert dict(got.source_keys) == draft.source
    assert policy.family is Family.DP
    assert policy.rules == {"max_variables": "3", "mandatory": ["sex"]}
    for variable, meant in zip(facts.variables, draft.variables, strict=True):
        assert (variable.name, variable.role, variable.declared) == (
            meant.name,
            meant.role,
            meant.declared,
        )
        assert variable.note == meant.note
        for level, wanted in zip(variable.levels, meant.levels, strict=True):
            assert level.codes == tuple(c.code for c in wanted.categories)
            assert [c.label for c in level.categories] == [
                Text.of(c.label) for c in wanted.categories
            ]
    area = facts.variables[0]
    assert [area.levels[1].codes[i] for i in area.levels[1].of_finest] == [
        c.parent for c in draft.variables[0].levels[0].categories
    ]
    assert [c.missing for c in area.finest.categories] == [
        bool(draft.variables[0].missing) and i == 0 for i in range(len(area.finest))
    ]
    (zero,) = facts.structural_zeros
    assert zero.reason == draft.structural_zeros[0][1]
