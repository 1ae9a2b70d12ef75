"""Answers in the reader's language: every sentence, caveat and refusal, on every surface."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest

import discreet.inference
from discreet import formats
from discreet.cli import app
from discreet.core.law_builders import laplace
from discreet.errors import CannotConclude, DiscreetError, InputError
from discreet.inference.questions import QUESTIONS, Conclusions, answer
from discreet.languages import Number, Sentence, say, says

from .tables import LAWS, TREATMENTS, cell_law, released, table

COUNTS = np.array([[30, 14, 29], [22, 25, 31], [44, 41, 60]])
A, B = {"region": "R0", "cause": "C0"}, {"region": "R1", "cause": "C1"}
C, D = {"region": "R0", "cause": "C1"}, {"region": "R1", "cause": "C0"}
DATA = {f"R{i}": {"x": i * i, "y": (i * 7) % 5, "size": 10 + i} for i in range(3)}
ASKED: dict[str, dict[str, object]] = {
    "independence": {},
    "goodness-of-fit": {"proportions": {"R0": "0.3", "R1": "0.3", "R2": "0.4"}, "axis": "region"},
    "loglinear": {"terms": ["region", "cause"]},
    "regression": {"data": DATA, "terms": ["x"], "axis": "region", "offset": "size"},
    "interval": {"cell": A},
    "total": {"cells": [A, B]},
    "rate": {"cell": A, "exposure": "12"},
    "difference": {"a": A, "b": B},
    "ratio": {"a": A, "b": B},
    "share": {"a": A, "of": {"region": "R0"}},
    "odds-ratio": {"a": A, "b": C, "c": D, "d": B},
    "ranking": {"axis": "region", "cell": {"cause": "C0"}},
    "posterior": {"cell": A},
}


def whole(law: str, treatment: str, mean: float, seed: int = 1) -> object:
    """A table by region and cause, with totals."""
    cells, _ = released(LAWS[law], np.full((3, 3), mean), seed, TREATMENTS[treatment])
    shown = np.maximum(cells, 0) if treatment != "as drawn" else cells
    for axis in range(2):
        shown = np.concatenate([shown, shown.sum(axis=axis, keepdims=True)], axis=axis)
    return table(shown, cell_law(LAWS[law], TREATMENTS[treatment]), totals=True)


def untold(words: object) -> str:
    """What of a text stays English in German: nothing, or the text itself."""
    if not isinstance(words, Sentence | Number):
        return str(words)
    letters = "".join(part for part in words.pattern if part.isalpha()) if words.pattern else ""
    return str(words) if letters and says(words, "de") == str(words) else ""


def test_every_question_is_asked_here() -> None:
    assert set(ASKED) == set(QUESTIONS)


@pytest.mark.parametrize("question", ASKED)
def test_every_answer_is_said_in_german(question: str) -> None:
    """Over laws, treatments and sizes: sentence and caveats are sentences of the catalogue."""
    refusals: list[str] = []
    for law, treatment, mean in (
        ("laplace 0.1, 10", "as drawn", 40.0),
        ("pure laplace 0.5", "clipped", 5.0),
        ("p-table 8, 4, blocked 2", "as drawn", 60.0),
        ("normal 0.5, 10", "threshold 5", 25.0),
    ):
        made = whole(law, treatment, mean)
        try:
            found = answer(made, question, ASKED[question])  # type: ignore[arg-type]
        except CannotConclude as refused:
            refusals.append(refused.message)
            continue
        for words in (found.sentence, *found.caveats):
            assert not untold(words)
        german = found.to_json("de")
        assert german["numbers"] == found.to_json()["numbers"]
        assert german["sentence"] != found.sentence
        assert german["sentence"] in found.says("de")
        assert "{" not in found.says("de")
    assert not [words for words in refusals if untold(words)]


def test_no_refusal_of_inference_is_plain_english() -> None:
    """Nothing is raised there with words that are not in the catalogue."""
    plain = []
    for file in sorted(Path(discreet.inference.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
                *("CannotConclude", "InputError", "Answer"),
            ):
                for argument in node.args:
                    if isinstance(argument, ast.JoinedStr | ast.Constant):
                        plain.append(f"{file.name}:{node.lineno}")
    assert plain == []


def test_the_command_says_it_in_german(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--language de`: answer and refusal; a language that is not there is named."""
    made = table(COUNTS, cell_law(laplace("0.5", 7)))
    file = tmp_path / "t.json"
    formats.write(made, file, "json-stat")
    words = ["infer", "independence", str(file), "--language", "de"]
    app([*words, "--json"], standalone_mode=False)
    german = json.loads(capsys.readouterr().out)
    assert german == Conclusions(made).independence_test().to_json("de")
    assert german["sentence"].startswith("Kein Anzeichen, dass region und cause voneinander")
    app(words, standalone_mode=False)
    assert "Kein Anzeichen" in capsys.readouterr().out
    app(["infer", "interval", str(file), "region=R0,cause=C0", "--language", "de-AT"],
        standalone_mode=False)  # fmt: skip
    assert "Rauschintervall; gilt in mindestens 95 %" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(DiscreetError) as refused:
        app(["infer", "ranking", str(file), "nothing", "--language", "de"], standalone_mode=False)
    assert refused.value.message.startswith("Die Tabelle hat keine Achse")
    with pytest.raises(InputError, match="--language must be one of"):
        app([*words[:-1], "tlh"], standalone_mode=False)


def test_the_total_needs_no_case_in_german() -> None:
    """It stands after "an" as after "von": a name in quotes fits everywhere."""
    share = say("The share of {one} in {whole}", one="R0", whole=say("the total"))
    assert share.says("de") == "Der Anteil von R0 an „Insgesamt“"
