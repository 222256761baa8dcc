"""Every code block of README and docs is run, page by page, each page in a folder of its own.

```python    runs; blocks of one page share their names
```console   lines that begin with `$ ` run in a shell and must end well (`$ ... # exit 2`: with that code); the
             lines below, where there are any, must be what is printed, `...` standing for anything. A plain
             `fullbench ...` runs in this process (a start of its own each costs more than all else); those of
             README, and whatever needs a shell, are processes of their own
```toml, ```jsonl, ```text, ... whose first line is `# file: NAME` are written to that file; others are shown only
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import call

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHELL = frozenset("|&;<>$*?`~")
"""Letters that only a shell understands, unless they are quoted."""
QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
INTO_FILE = re.compile(r" > (\S+)$")


def blocks(page: Path) -> list[tuple[str, str, int]]:
    text = page.read_text(encoding="utf-8")
    return [(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "120")
    names: dict[str, object] = {"__name__": "docs"}
    for language, body, line in blocks(page):
        where = f"{page.name}:{line}"
        if language == "python" and not body.startswith("# file:"):
            exec(compile(body, where, "exec"), names)
        elif language == "console":
            console(body, where)
        elif body.startswith("# file:"):
            head, _, rest = body.partition("\n")
            target = tmp_path / head.removeprefix("# file:").strip()
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(rest, encoding="utf-8")


def console(body: str, where: str) -> None:
    for chunk in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, wanted = chunk.partition("\n")
        while command.endswith("\\"):
            more, _, wanted = wanted.partition("\n")
            command = command[:-1] + more.lstrip("> ")
        code = int(m[1]) if (m := re.search(r"# exit (\d+)", command)) else 0
        if command.startswith(("make ", "pip ", "export ")):
            continue  # what sets up a machine is tried in a fresh clone, not here
        into_file = INTO_FILE.search(command)
        unquoted = QUOTED.sub("", INTO_FILE.sub("", command))
        if where.startswith("README") or SHELL & set(unquoted):
            ended, printed = ran(command, in_a_shell=True)
        else:
            ended, printed = ran(INTO_FILE.sub("", command), into_file=into_file[1] if into_file else "")
        assert ended == code, f"{where}: {command}\n{printed}"
        if wanted.strip():
            same = doctest.OutputChecker().check_output(
                wanted.strip() + "\n", printed.strip() + "\n", doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            )
            assert same, f"{where}: {command}\n--- printed\n{printed}\n--- wanted\n{wanted}"


def ran(command: str, *, in_a_shell: bool = False, into_file: str = "") -> tuple[int, str]:
    """How a command ended, and what it printed on the screen."""
    words = shlex.split(command, comments=True)
    if in_a_shell or words[0] != "fullbench":
        command += f" > {into_file}" if into_file else ""
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=240)
        return done.returncode, done.stdout + done.stderr
    ended, printed = call(*words[1:])
    if into_file:
        Path(into_file).write_text(printed.stdout, encoding="utf-8")
        return ended, printed.stderr
    return ended, printed.stdout + printed.stderr


def test_every_command_is_in_the_docs():
    from typer.main import get_command

    from fullbench.cli.all_commands import app

    command = get_command(app)
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name in command.list_commands(None):
        assert f"fullbench {name}" in text, f"the command {name!r} is nowhere in README or docs"
