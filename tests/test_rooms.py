"""The house as it stands: no import cycle, nouns on the standard library alone, nobody imports a paper from outside.

Imports inside functions and for type checkers alone count like all others, which import-linter does not see to.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"


def modules() -> dict[str, Path]:
    named = {}
    for file in sorted(SRC.rglob("*.py")):
        parts = file.relative_to(SRC).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return named


def imports(file: Path) -> set[str]:
    """Every module or name that a file imports, wherever in it."""
    wanted: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            wanted |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: imports are absolute here"
            wanted |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return wanted


def edges() -> dict[str, set[str]]:
    named = modules()
    return {
        name: {target for target in imports(file) if target in named and target != name} for name, file in named.items()
    }


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += graph[name]
    return seen


def test_no_module_imports_itself_by_a_detour():
    graph = edges()
    cycles = [name for name in graph if name in reachable(graph, name)]
    assert cycles == []


def test_nothing_outside_imports_a_paper_and_no_paper_another():
    crossed = defaultdict(list)
    for name, targets in edges().items():
        for target in targets:
            if target.startswith("fullbench.benchmarks.") and name.split(".")[:3] != target.split(".")[:3]:
                crossed[name].append(target)
    assert dict(crossed) == {}


def test_the_nouns_import_the_standard_library_only():
    allowed = {*sys.stdlib_module_names, "fullbench.nouns", "fullbench.errors"}
    strange = {
        (name, target)
        for name, file in modules().items()
        if name.startswith("fullbench.nouns")
        for target in imports(file)
        if not (target.split(".")[0] in allowed or ".".join(target.split(".")[:2]) in allowed)
    }
    assert strange == set()
