"""docs/reference/description.md names every key, and its examples are read as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from discreet.workspace.category_file import CATEGORY_KEYS
from discreet.workspace.derived_file import DERIVE_KEYS
from discreet.workspace.description_file import KEYS, SOURCE_KEYS, WEIGHT_KEYS
from discreet.workspace.policy_file import BUDGET_KEYS
from discreet.workspace.report_declarations import DECLARATIONS, LOOKED
from discreet.workspace.variable_file import LEVEL_KEYS, VARIABLE_KEYS
from discreet.workspace.yaml_reader import read_text

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "description.md").read_text("utf-8")


@pytest.mark.parametrize(
    "key",
    sorted({*KEYS, *DECLARATIONS, LOOKED, *SOURCE_KEYS, *WEIGHT_KEYS, *BUDGET_KEYS, *VARIABLE_KEYS, *LEVEL_KEYS,
            *CATEGORY_KEYS, *DERIVE_KEYS}),
)  # fmt: skip
def test_every_key_is_documented(key: str) -> None:
    assert re.search(rf"\b{key}\b", PAGE)


def test_examples_use_known_keys() -> None:
    examples = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) >= 4
    for example in examples:
        block = read_text(example)
        block.only(KEYS)
        variables = block.block("variables")
        for name in variables.values if variables else ():
            assert variables is not None
            part = variables.block(name)
            assert part is not None
            part.only(VARIABLE_KEYS)
