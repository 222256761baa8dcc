"""Imports between packages: rules that the layers in `.importlinter` cannot express.

Imports inside functions and for type checkers count like all others.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"

BASE = "core files stats columns analysis"
DATA = f"{BASE} ledger reports"
MODELS = "parsing models judges synthetic"
MAY_IMPORT = {
    "core": "errors number_agreement",
    "parsing": "core",
    "files": "core",
    "stats": "core",
    "columns": "core",
    "models": "core files",
    "analysis": "core columns stats",
    "ledger": "core columns",
    "reports": "core files stats analysis",
    "judges": "core files parsing models",
    "synthetic": "core parsing models judges",
    "benchmarks": f"{BASE} parsing judges synthetic",
    "studies": f"{DATA} {MODELS}",
    "audit": f"{DATA} {MODELS} studies",
    "training": f"{DATA} models judges synthetic studies",
    "web": f"{DATA} studies audit",
    "cli": f"{DATA} {MODELS} studies audit training web",
    "testing": f"{DATA} {MODELS} studies audit",
    "errors": "number_agreement",
    "number_agreement": "",
    "cache_dir": "",
    "secret_masking_and_text_escapes": "",
    "picture_flattening_and_orientation": "core",
    "media_metadata_blanking": "core",
    "picture_metadata_removal": "core",
    "plugin_specs": "core",
    "version_and_code_digest": "",
    "__init__": "core ledger studies",
    "__main__": "cli",
}
"""Other packages that each package may import. Benchmarks and reproductions are loaded by plugin_specs only."""
SHARED = {
    "errors",
    "number_agreement",
    "cache_dir",
    "secret_masking_and_text_escapes",
    "picture_flattening_and_orientation",
    "media_metadata_blanking",
    "picture_metadata_removal",
    "plugin_specs",
    "version_and_code_digest",
}
"""Modules that all packages except those in PLAIN may import."""
PLAIN = {"core", "errors", "number_agreement"}
"""Packages that import only the standard library."""

LIBRARIES = {
    "torch": "judges models training",
    "torchvision": "judges",
    "open_clip": "judges",
    "transformers": "judges models",
    "safetensors": "judges",
    "diffusers": "models training",
    "peft": "training",
    "ray": "studies",
    "litellm": "models",
    "cv2": "models",
    "rapidocr": "models",
    "xllamacpp": "models",
    "httptools": "models",
    "openpyxl": "files",
    "huggingface_hub": "files judges",
    "vl_convert": "reports",
    "pyarrow": "columns files ledger",
    "duckdb": "ledger",
    "psycopg": "ledger",
    "boto3": "ledger",
    "botocore": "ledger",
    "cryptography": "ledger",
    "fastapi": "web cli",
    "starlette": "web",
    "pydantic": "web",
    "sqlalchemy": "web cli",
    "alembic": "web",
    "uvicorn": "cli",
    "typer": "cli",
    "pytest": "testing",
}
"""Packages that may import each heavy or optional library."""


def modules() -> dict[str, Path]:
    named = {}
    for file in sorted(SRC.rglob("*.py")):
        parts = file.relative_to(SRC).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return named


@cache
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


def package_imports() -> set[tuple[str, str, str]]:
    """Return the package, the module and the target of every import."""
    return {
        (name.split(".")[1] if "." in name else "__init__", name, target)
        for name, file in modules().items()
        for target in imports(file)
    }


def test_each_package_imports_only_the_packages_of_its_row():
    wrong = []
    for package, name, target in package_imports():
        # `fullbench` itself loads names on demand from many packages, so nothing inside may import it.
        root, inside = [*target.split("."), "__init__"][:2]
        allowed = {package, *MAY_IMPORT[package].split(), *(() if package in PLAIN else SHARED)}
        if root == "fullbench" and inside not in allowed:
            wrong.append((name, target))
    assert wrong == []


def test_core_and_errors_import_the_standard_library_only():
    allowed = {*sys.stdlib_module_names, "fullbench"}
    targets = {(name, target) for package, name, target in package_imports() if package in PLAIN}
    assert [(name, target) for name, target in targets if target.split(".")[0] not in allowed] == []


def test_heavy_libraries_are_imported_only_where_they_are_needed():
    wrong = []
    for package, name, target in package_imports():
        library = target.split(".")[0]
        if library in LIBRARIES and package not in LIBRARIES[library].split():
            wrong.append((name, target))
    assert wrong == []
