"""The examples in README and docs run; commands, errors, rules and files are in the docs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, kind: str) -> list[str]:
    return [body for found, body in BLOCK.findall(page.read_text("utf-8")) if found == kind]


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(command, comments=True)
    if words[0] == "discreet":
        words = [sys.executable, "-m", "discreet", *words[1:]]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)


OWN_TESTS = {"formats.md", "http.md", "python.md"}
"""Pages whose examples need a table or a server: their tests stand beside what they describe."""


def with_examples(kind: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, kind) and page.name not in OWN_TESTS]


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", with_examples("console"), ids=lambda page: str(page.relative_to(ROOT))
)
def test_commands_in_the_docs_run(page: Path, fresh_demo: Path):
    """Each `$ discreet …` line of a page runs in order and ends well, or as the page says."""
    for body in blocks(page, "console"):
        for line in re.sub(r"\\\n\s*", "", body).splitlines():
            if not line.startswith("$ "):
                continue
            command = line[2:]
            if not command.startswith("discreet ") or command.startswith("discreet serve"):
                continue
            expected = re.search(r"#\s*exit (\d+)", command)
            done = run(command, fresh_demo.parent)
            assert done.returncode == (int(expected[1]) if expected else 0), (
                f"{page.name}: {command}\n{done.stdout}\n{done.stderr}"
            )


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", with_examples("python"), ids=lambda page: str(page.relative_to(ROOT))
)
def test_python_in_the_docs_runs(page: Path, fresh_demo: Path):
    """The Python blocks of a page run one after the other in one session."""
    script = "\n".join(blocks(page, "python"))
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=fresh_demo.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{page.name}\n{done.stderr}"


def test_every_command_is_documented():
    """A command that is not in docs/reference/cli.md fails the build."""
    import typer

    from discreet.cli import app

    page = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
    group = typer.main.get_command(app)
    names = []
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        names += [f"{name} {part}" for part in inner] if inner else [name]
    missing = [name for name in names if f"discreet {name}" not in page]
    assert not missing


def test_links_between_pages_exist():
    """A relative link in the docs leads to a file that is there."""
    broken = []
    for page in [*PAGES, *ROOT.glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
            if not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)} → {target}")
    assert not broken


def rows(page: str) -> list[list[str]]:
    """The cells of every row of the tables of a reference page whose first cell is a name."""
    text = (ROOT / "docs" / "reference" / page).read_text("utf-8")
    lines = re.findall(r"^\| `.*\|$", text, re.MULTILINE)
    return [[cell.strip(" `") for cell in line[1:-1].split("|")] for line in lines]


def test_every_error_is_documented():
    """Name, parent, exit code and HTTP status of each error are those of the code."""
    from discreet import errors
    from discreet.server import problems

    known = {}
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.DiscreetError):
            more = {"rule": "r"} if issubclass(kind, errors.Refusal) else {}
            parent = kind.__base__.__name__ if kind is not errors.DiscreetError else ""
            status = problems.of(kind("Said.", **more)).status
            known[name] = [parent, str(kind.exit_code), str(status)]
    assert {name: cells for name, *cells, _ in rows("errors.md")} == known


def test_every_rule_is_documented():
    """docs/reference/rules.md names each rule, and its example is a set of rules."""
    from discreet import rules
    from discreet.workspace.yaml_reader import read_text

    assert [name for name, *_ in rows("rules.md")] == list(rules.RULES)
    (example,) = BLOCK_YAML.findall((ROOT / "docs" / "reference" / "rules.md").read_text("utf-8"))
    assert set(read_text(example).plain()["rules"]) <= set(rules.RULES)


BLOCK_YAML = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_file_of_a_data_set_is_documented():
    """The page on the folder, and the page on back-ups, name every file a workspace may hold."""
    from discreet import file_names

    names = [name for key, name in vars(file_names).items() if key.isupper()]
    assert len(names) > 15
    folder = (ROOT / "docs" / "reference" / "description.md").read_text("utf-8")
    assert [name for name in names if name not in folder] == []
    backed_up = (ROOT / "docs" / "operations.md").read_text("utf-8")
    inside = {file_names.DATA, file_names.ARRAYS, file_names.MANIFEST, file_names.BUDGET_NOTE}
    inside |= {file_names.REMOTE, file_names.CHANGED, file_names.SHARD}
    assert [name for name in names if name not in backed_up and name not in inside] == []


def test_every_setting_is_documented():
    """docs/reference/settings.md is what the methods declare; run tools/settings_page.py anew."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("settings_page", ROOT / "tools/settings_page.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.PAGE.read_text("utf-8") == made.page()
