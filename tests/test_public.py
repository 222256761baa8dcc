"""What a user sees of the package as a whole."""

from __future__ import annotations

import subprocess
import sys

import fullbench

HEAVY = (
    "numpy",
    "scipy",
    "httptools",
    "PIL",
    "rich.progress",
    "jinja2",
    "pyarrow",
    "vl_convert",
    "orjson",
    "sqlite3",
    "asyncio",
    "fastapi",
    "ray",
    "sqlalchemy",
    "uvicorn",
)


def loaded(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_public_names_are_all_there_and_sorted():
    assert list(fullbench.__all__) == sorted(fullbench.__all__)
    assert set(fullbench.__all__) == set(fullbench._HOMES)
    for name in fullbench.__all__:
        assert getattr(fullbench, name) is not None
        assert name in dir(fullbench)


def test_importing_the_package_loads_nothing_heavy():
    assert not loaded("import fullbench") & {*HEAVY, "typer", "click"}


def test_the_command_line_loads_nothing_heavy():
    assert not loaded("import fullbench.cli.all_commands") & set(HEAVY)


def test_judging_a_case_loads_no_statistics_library(tmp_path):
    """`fullbench judge` on one case takes 0.6 s of CPU at the most; these alone would take more than half of it."""
    (tmp_path / "items.jsonl").write_text('{"id": "i", "prompt": "?"}')
    answers = [f'{{"item": "i", "contestant": "{name}", "text": "{name}"}}' for name in ("red", "a red one")]
    (tmp_path / "answers.jsonl").write_text("\n".join(answers))
    command = ["judge", "--items", str(tmp_path / "items.jsonl"), "--responses", str(tmp_path / "answers.jsonl")]
    command += ["--judge", "length", "--ballot", "choice", "--ledger", str(tmp_path / "x.ledger"), "--quiet"]
    code = f"sys.argv[1:] = {command!r}\nfrom fullbench.cli import main\ntry:\n    main()\nexcept SystemExit: pass"
    modules = loaded(code)
    assert "numpy" in modules, "no table was made"
    heavy = {"scipy.special", "scipy.stats", "scipy.sparse", "pandas", "polars", "pyarrow", "httptools", "sqlalchemy"}
    assert not modules & heavy


def test_changelog_and_package_agree_on_the_version():
    import re
    from pathlib import Path

    root = Path(__file__).parents[1]
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = [line for line in changes.split("\n") if line.startswith("## ")]
    released = versions[1:] if versions[0].endswith(" (unreleased)") else versions
    assert all(re.fullmatch(r"## \d+\.\d+\.\d+ \((unreleased|20\d\d-\d\d-\d\d)\)", line) for line in versions)
    assert not released or released[0].startswith(f"## {fullbench.__version__} (20"), "a release has its date"
    assert f'version = "{fullbench.__version__}"' in (root / "pyproject.toml").read_text(encoding="utf-8")
    assert f"version: {fullbench.__version__}" in (root / "CITATION.cff").read_text(encoding="utf-8")


def _statements(node):
    """All statements below a node. An import is one: what is inside of expressions need not be looked through."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, field, ()):
            yield child
            yield from _statements(child)


def test_every_import_is_a_declared_dependency():
    """What happens to be installed for development must not be needed by users."""
    import ast
    import re
    import tomllib
    from importlib.metadata import packages_distributions
    from pathlib import Path

    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [need for name, needs in project["optional-dependencies"].items() if name != "dev" for need in needs]
    declared = {re.split(r"[^\w-]", need)[0].lower().replace("_", "-") for need in [*project["dependencies"], *extras]}
    elsewhere = {"cv2": ["opencv-python-headless"], "open_clip": ["open_clip_torch"]}
    homes = {**elsewhere, **packages_distributions()}
    for path in (root / "src").rglob("*.py"):
        for node in _statements(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            for name in {name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - {"fullbench"}:
                offered = {home.lower().replace("_", "-") for home in homes.get(name, [name])}
                assert offered & declared, (
                    f"{path.relative_to(root)} imports {name!r}, which pyproject.toml does not name"
                )


def test_the_extra_all_means_all():
    import re
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    (every,) = extras["all"]
    within = set(re.search(r"\[(.*)\]", every)[1].split(","))
    assert within == set(extras) - {"all", "dev", "light"}, "light is made of others, dev is for whoever changes it"
