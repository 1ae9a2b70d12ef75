"""House rules that no other tool checks: sizes, cycles, clocks in tests, one version.

An exception stands here with its reason, and goes when it is no longer needed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import discreet

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src"

LONG_MODULES: dict[str, str] = {}
LONG_FUNCTIONS = {
    "cli/tables.table": "the options of a command are its parameters",
    "cli/workspaces.init": "the options of a command are its parameters",
    "methods/shared/invariants/joint_table._solved": "one loop of a solver, whose state has nine parts",
}
CYCLES: dict[frozenset[str], str] = {}
QUICK_WAITS = {
    "test_client.test_nothing_there_is_said_after_some_attempts": "nothing listens: refused at once",
}


def modules() -> dict[str, Path]:
    """Every module of the package by its name below `discreet`."""
    found = {}
    for path in sorted((SRC / "discreet").rglob("*.py")):
        name = "/".join(path.relative_to(SRC / "discreet").with_suffix("").parts)
        found[name.removesuffix("/__init__")] = path
    return found


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function in the statements of a tree; no expression holds one."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(tree, part, None)
        for node in inner if isinstance(inner, list) else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node
            yield from functions(node)


def test_no_module_is_over_400_lines() -> None:
    """Without a reason beside it."""
    long = {name for name, path in modules().items() if path.read_text().count("\n") > 400}
    assert long == set(LONG_MODULES)


def test_no_function_is_over_60_lines() -> None:
    """Without a reason beside it; complexity is ruff's to judge."""
    long = {
        f"{name}.{function.name}"
        for name, path in modules().items()
        for function in functions(tree_of(path))
        if (function.end_lineno or 0) - function.lineno >= 60
    }
    assert long == set(LONG_FUNCTIONS)


def test_no_check_is_switched_off_without_a_reason() -> None:
    """`# noqa: CODE - reason`, `# type: ignore[code]`: never all of it, never silently."""
    bare = []
    for folder in ("src", "tests", "bench", "tools"):
        for path in (ROOT / folder).rglob("*.py"):
            if ".envs" in path.parts:  # peers' own, installed to be measured against
                continue
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                said = re.search(r"#\s*noqa\b(.*)", line)
                if said and not re.match(r": [A-Z]+\d+(, ?[A-Z]+\d+)* - \w", said[1]):
                    bare.append(f"{path.relative_to(ROOT)}:{number}")
                if re.search(r"#\s*type:\s*ignore(?!\[)", line):
                    bare.append(f"{path.relative_to(ROOT)}:{number}")
    assert [one for one in bare if "test_house_rules" not in one] == []


def imports(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the package that a module imports when it runs, at its top or later."""
    package = name if path.name == "__init__.py" else name.rpartition("/")[0]
    found: set[str] = set()

    def visit(nodes: Iterator[ast.AST]) -> None:
        for node in nodes:
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                visit(iter(node.orelse))
                continue
            if isinstance(node, ast.ImportFrom) and node.level:
                parts = [part for part in package.split("/") if part]
                parts = parts[: len(parts) - node.level + 1]
                base = "/".join(parts + (node.module or "").split(".")).strip("/")
                for alias in node.names:
                    inner = f"{base}/{alias.name}".strip("/")
                    found.add(inner if inner in known else base)
            visit(ast.iter_child_nodes(node))

    visit(ast.iter_child_nodes(tree_of(path)))
    return (found & known.keys()) - {name, ""}


def cycles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """The sets of modules that can all reach one another."""
    reach = {name: set(near) for name, near in graph.items()}
    changed = True
    while changed:
        changed = False
        for name, near in reach.items():
            more = near.union(*(reach[one] for one in near))
            changed |= more != near
            reach[name] = more
    return {
        frozenset(b for b in reach if b in reach[a] and a in reach[b])
        for a in reach
        if a in reach[a]
    }


def test_no_modules_import_one_another_in_a_circle() -> None:
    """Not even inside functions: what would need that belongs in a third module."""
    known = modules()
    graph = {name: imports(name, path, known) for name, path in known.items()}
    assert len(graph) > 200
    assert sum(map(len, graph.values())) > 1000  # imports are seen
    assert cycles(graph) == set(CYCLES)


def test_the_search_for_circles_finds_one() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == {frozenset("abc")}


CLOCKS = {"monotonic", "perf_counter", "process_time", "monotonic_ns", "perf_counter_ns"}


def hurried(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Functions that assert what a clock says, or wait less than two minutes."""
    for function in functions(tree):
        clocked = {
            target.id
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and CLOCKS & names_in(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Assert) and (CLOCKS | clocked) & names_in(node.test):
                yield function.name, node.lineno
            if isinstance(node, ast.keyword) and node.arg == "timeout":
                seconds = node.value.value if isinstance(node.value, ast.Constant) else None
                if isinstance(seconds, int | float) and seconds < 120:
                    yield function.name, node.value.lineno


def names_in(node: ast.AST) -> set[str]:
    return {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Name | ast.Attribute)
    }


def test_no_test_is_in_a_hurry() -> None:
    """None asserts wall-clock time, none has a time-out that a busy machine breaks."""
    found = {}
    for path in (ROOT / "tests").rglob("*.py"):
        if not re.search("|".join([*CLOCKS, "timeout"]), path.read_text("utf-8")):
            continue
        for name, line in hurried(tree_of(path)):
            found[f"{path.stem}.{name}"] = f"{path.relative_to(ROOT)}:{line}"
    assert found.keys() == QUICK_WAITS.keys(), found


def test_the_search_for_hurry_finds_it() -> None:
    hasty = (
        "def f():\n start = time.monotonic()\n wait(timeout=5)\n assert time.time() - start < 3\n"
    )
    assert sorted(line for _, line in hurried(ast.parse(hasty))) == [3, 4]


def vague_proofs(tree: ast.Module) -> list[str]:
    """Proofs whose docstring begins with no sentence of six words or more."""
    found = []
    for function in functions(tree):
        if any("mark.proof" in ast.unparse(one) for one in function.decorator_list):
            claim = (ast.get_docstring(function) or "").partition("\n\n")[0]
            if len(claim.split()) < 6 or not claim.endswith("."):
                found.append(function.name)
    return found


def test_every_proof_says_what_it_shows() -> None:
    """docs/evidence.md lists the first sentences of their docstrings, and nothing beside them."""
    vague = [
        f"{path.name}::{name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for name in vague_proofs(tree_of(path))
    ]
    assert vague == []


def test_the_search_for_vague_proofs_finds_them() -> None:
    """One without a docstring, and one that says nothing by itself."""
    marked = "@pytest.mark.proof\ndef test_{}():\n    {}\n"
    clear = '"""Of 500 tables at most 9 % are rejected."""'
    wrong = [marked.format("a", "pass"), marked.format("b", '"""The same, often."""')]
    assert vague_proofs(ast.parse("".join([*wrong, marked.format("c", clear)]))) == [
        "test_a",
        "test_b",
    ]


def test_version_changelog_and_citation_agree() -> None:
    """The version is written in version.py; the top of the changelog and CITATION.cff follow it."""
    version = discreet.__version__
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert re.fullmatch(rf"{re.escape(version)} \((unreleased|\d{{4}}-\d\d-\d\d)\)", headings[0])
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {version}\n" in cited
    assert "version =" not in (ROOT / "pyproject.toml").read_text("utf-8").partition("[tool")[0]
