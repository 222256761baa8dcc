"""Gather the pages of the site in build/docs: those in docs/, README as the first, and a reference made from the code.

Usage: python -m scripts.docs [TARGET]. `make docs` then lets mkdocs build the site; a link that leads nowhere is an
error.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "LICENSE")
STYLE = (
    ".md-typeset td:first-child code { overflow-wrap: normal; word-break: normal; }\n"
    ".md-typeset .shown { overflow-x: auto; margin: 0 0 1.5em; padding-left: .8em; "
    "border-left: .15em solid #9fa8da; }\n"
    ".md-typeset .shown svg { max-width: 100%; height: auto; }\n"
    ".md-typeset .shown figure { width: auto; margin: 0; text-align: left; }\n"
)
"""Names of options break at a hyphen, on a phone, and never in a word; what a cell showed scrolls within the page."""
WORKER = """\
// Browsers start no worker from a file on disk; run the script of the search in a hidden frame instead.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inner = (this.inner = frame.contentWindow);
      const load = (address) => new Promise((done, failed) => {
        const script = inner.document.createElement("script");
        Object.assign(script, { src: address, onload: done, onerror: failed });
        inner.document.body.appendChild(script);
      });
      inner.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      inner.importScripts = async (...addresses) => { for (const address of addresses) await load(address); };
      this.ready = load(url);
    }
    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
"""
VARIABLES = {
    "FULLBENCH_COMMAND": "The path of fullbench in printed commands. `make demo` sets it.",
    "FULLBENCH_CACHE": "The folder of what was fetched once; the user's cache folder where it is not set.",
    "FULLBENCH_CSV": "`raw` writes texts that look like formulas as they are, without an apostrophe in front.",
    "FULLBENCH_DATA": "The folder of the web app, as `--data` of `fullbench serve` and `fullbench people`.",
    "FULLBENCH_DATABASE": "The database of the web app, as `--database` of `fullbench serve` and `fullbench people`.",
    "FULLBENCH_DEBUG": "Shows the trace of an error of ours at once, where it would be written to a file.",
    "FULLBENCH_DURABILITY": "What a ledger survives, as `--durability`: `power` or `process`.",
    "FULLBENCH_FETCH_PRIVATE": "Servers of private networks to fetch pictures from: `HOST:PORT`, with commas between.",
    "FULLBENCH_LEDGER": "The ledger, as `--ledger`.",
    "FULLBENCH_PICTURES": "Where a ledger's pictures are kept, as `--pictures`.",
    "FULLBENCH_PICTURES_FROM": "Folders that data may take pictures from, as `--pictures-from`.",
    "FULLBENCH_REWARD_TOKEN": "The token that callers of `fullbench serve-judge` send.",
    "FULLBENCH_SAFE": "Refuses studies that would read, send or fetch what they have not said, as `--safe`.",
    "FULLBENCH_SECRET": "Signs the web app's forms, as `--secret`.",
    "FULLBENCH_TASK_LIMIT": "Tasks that one study for people may have, as `--task-limit`.",
    "FULLBENCH_WEB": "How `fullbench serve` tells its workers their settings; nobody sets it by hand.",
}


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "docs"
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(ROOT / "docs", target)
    for name in OUTSIDE:
        shutil.copy(ROOT / name, target / name)
    (target / "index.md").write_text(readme(), encoding="utf-8")
    (target / "extra.css").write_text(STYLE, encoding="utf-8")
    (target / "iframe-worker.js").write_text(WORKER, encoding="utf-8")
    (target / "gallery.md").write_text(gallery(), encoding="utf-8")
    for path in target.rglob("*.ipynb"):
        path.with_suffix(".md").write_text(notebook(path), encoding="utf-8")
    for page in target.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        depth = len(page.relative_to(target).parts) - 1
        here = "../" * depth
        for name in OUTSIDE:
            text = text.replace(f"]({'../' * (depth + 1)}{name})", f"]({here}{name})")
            text = text.replace("](docs/", "](") if page.name == name else text
        text = re.sub(r"\]\(((?:[\w.-]+/)+[\w-]+)\.ipynb\)", r"](\1.md)", text)
        # Links into the code lead out of the site: they are shown as names.
        text = re.sub(r"\[([^\]]+)\]\((?:\.\./)+((?:tests|src|scripts)/[^)]+)\)", r"\1 (`\2`)", text)
        page.write_text(text, encoding="utf-8")
    reference = target / "reference"
    reference.mkdir(exist_ok=True)
    made_pages = {"commands": commands(), "settings": settings(), "api": api(), "http-api": http_api()}
    for name, made in made_pages.items():
        (reference / f"{name}.md").write_text(made, encoding="utf-8")


def readme() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    folders = {"how-to": "real-models", "reference": "questions-and-commands", "explanation": "statistics"}
    for folder, first in folders.items():
        text = text.replace(f"](docs/{folder})", f"]({folder}/{first}.md)")
    text = text.replace("](docs/papers)", "](papers/mllm_judge.md)").replace("[中文](README.zh.md) · ", "")
    return text.replace("](docs/", "](")


def gallery() -> str:
    """The pictures that the docs show, each with the words and the page it stands with there."""
    lines = [
        "# Gallery",
        "",
        "Pages and charts as they look; `fullbench demo`, `fullbench report --out report.html` and `fullbench serve` "
        "make such pages.",
        "",
    ]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        shown = re.findall(r"!\[([^\]]+)\]\((?:\.\./)*(images/[^)]+)\)", text)
        if shown:
            title = text.partition("\n")[0].removeprefix("# ")
            lines += [f"## [{title}]({page.relative_to(ROOT / 'docs').as_posix()})", ""]
        for words, place in shown:
            lines += [f"**{words}**", "", f"![{words}]({place})", ""]
    return "\n".join(lines)


def notebook(path: Path) -> str:
    """A notebook as it was executed: its words, its code, and what each cell showed."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    lines: list[str] = []
    for cell in cells:
        source = "".join(cell["source"])
        lines += [source, ""] if cell["cell_type"] == "markdown" else ["```python", source, "```", ""]
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text/html" in data:
                shown = " ".join("".join(data["text/html"]).split())
                lines += [f'<div class="shown">{shown}</div>', ""]
            else:
                lines += ["```text", "".join(data.get("text/plain", output.get("text", ""))).rstrip(), "```", ""]
    return "\n".join([*lines, f"[The notebook itself]({path.name}), to run or to change.", ""])


def commands() -> str:
    """Every command with its help: what it does, its options and their defaults."""
    import click
    from typer.main import get_command

    from fullbench.cli.all_commands import app

    lines = ["# Commands", "", "Each has `--help`. This page is made from the same texts.", ""]

    def write(command: Any, name: str) -> None:
        lines.extend([f"## `{name}`", "", inspect.cleandoc(command.help or "").replace("\n    ", "\n\n    "), ""])
        named = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
        rows = [_parameter(parameter) for parameter in named if parameter.name != "help"]
        if rows:
            lines.extend(["| option | what |", "|---|---|", *rows, ""])
        for inner in sorted(getattr(command, "commands", {})):
            write(command.commands[inner], f"{name} {inner}")

    root = get_command(app)
    for name in sorted(getattr(root, "commands", {})):
        write(root.commands[name], f"fullbench {name}")  # type: ignore[attr-defined]
    del click
    return "\n".join(lines)


def _parameter(parameter: Any) -> str:
    names = (
        ", ".join(f"`{name}`" for name in parameter.opts)
        if parameter.param_type_name == "option"
        else f"`{parameter.name.upper()}`"
    )
    default = parameter.default
    usual = "" if default in (None, False, (), [], ...) or callable(default) else f" Default: `{default}`."
    must = " Required." if parameter.required else ""
    return f"| {names} | {(getattr(parameter, 'help', None) or '').replace('|', chr(92) + '|')}{usual}{must} |"


def settings() -> str:
    """The keys of a study's file, and the options of a model's and a judge's spec."""
    from fullbench.models import model_specs
    from fullbench.models.model_settings import Limits, Sampling
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.study_file import Study
    from fullbench.studies.study_file_sections_for_kinds_and_panels import OPTIONS, VIEWS

    lines = ["# Studies and settings", "", "## A study's file", "", inspect.cleandoc(Study.__doc__ or ""), ""]
    lines += ["| key | type | usual |", "|---|---|---|"]
    for entry in dataclasses.fields(Study):
        if entry.name not in {"path", "options", "said"}:
            usual = "" if entry.default is dataclasses.MISSING else f"`{entry.default}`"
            lines.append(f"| `{entry.name}` | {str(entry.type).replace('|', 'or')} | {usual} |")
    for kind, keys in OPTIONS.items():
        lines += ["", f"`[{kind}]`, for a study of that kind: {', '.join(f'`{key}`' for key in keys)}."]
    for view, known in VIEWS.items():
        lines += ["", f"`[{view}.NAME]`: {', '.join(f'`{key}`' for key in known)}."]
    lines += ["", "## Options of a model", "", "Written as `openai:NAME@URL?OPTION=VALUE&OPTION=VALUE`.", ""]
    sampling_options = (*model_specs.SAMPLING, *model_specs.MEDIA)
    for title, group, options in (("Sampling", Sampling, sampling_options), ("Limits", Limits, model_specs.LIMITS)):
        named = ", ".join(f"`{option}`" for option in options)
        lines += [f"### {title}", "", inspect.cleandoc(group.__doc__ or ""), "", f"All of them: {named}.", ""]
    more = [*model_specs.PRICE, *model_specs.CACHING, *model_specs.ACCESS]
    lines += [f"Also: {', '.join(f'`{name}`' for name in more)}.", "", "## Options of a judge", ""]
    lines += [
        inspect.cleandoc(judge_contestant_and_benchmark_specs.judge_from_spec.__doc__ or ""),
        "",
        "## Options of a contestant",
        "",
    ]
    lines += [
        inspect.cleandoc(judge_contestant_and_benchmark_specs.contestant_from_spec.__doc__ or ""),
        "",
        "## Variables",
        "",
    ]
    lines += ["| variable | what |", "|---|---|", *(f"| `{name}` | {VARIABLES[name]} |" for name in variables())]
    return "\n".join(lines) + "\n"


def http_api() -> str:
    """The paths of the HTTP API with what each does, from the schema that `/openapi.json` serves."""
    schema = json.loads((ROOT / "tests" / "golden" / "files" / "openapi.json").read_text(encoding="utf-8"))
    lines = [
        "# HTTP API",
        "",
        "`fullbench serve` answers these requests. Send a token as `Authorization: Bearer TOKEN`. "
        "`/openapi.json` has all fields. [Run the web app](../how-to/web.md) has an example.",
        "",
        "| request | what it does |",
        "|---|---|",
    ]
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            text = " ".join((operation.get("description") or operation.get("summary") or "").split())
            lines.append(f"| `{method.upper()} {path}` | {text.replace('|', chr(92) + '|')} |")
    return "\n".join([*lines, ""])


def variables() -> list[str]:
    """The variables of the environment that the package reads."""
    source = (file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    return sorted({name for text in source for name in re.findall(r'"(FULLBENCH_[A-Z_]+)"', text)})


def api() -> str:
    """The names of the package's root with their signatures and docstrings."""
    import fullbench

    lines = ["# Python", "", inspect.cleandoc(fullbench.__doc__ or ""), ""]
    for name in fullbench.__all__:
        thing = getattr(fullbench, name)
        lines += [f"## `{name}`", "", "```text", f"{name}{_signature(thing)}", "```", "", _prose(thing), ""]
        if inspect.isclass(thing):
            for inner, member in vars(thing).items():
                plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
                if (
                    not inner.startswith("_")
                    and (inspect.isfunction(plain) or isinstance(plain, property))
                    and plain.__doc__
                ):
                    lines += [f"- `{inner}{_signature(plain)}`: {_prose(plain).split(chr(10) + chr(10))[0]}"]
            lines.append("")
    return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class _Bare:
    """A type that is shown as it was written, without the quotes of a text."""

    written: str

    def __repr__(self) -> str:
        return self.written


def _signature(thing: Any) -> str:
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""

    def bare(kind: Any) -> Any:
        return _Bare(kind) if isinstance(kind, str) else kind

    parameters = [entry.replace(annotation=bare(entry.annotation)) for entry in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=bare(signature.return_annotation)))


def _prose(thing: Any) -> str:
    """A docstring with its examples as code."""
    text = inspect.cleandoc(thing.__doc__ or "")
    return re.sub(r"((?:^>>>.*\n?(?:^(?!\n)(?!>>>).+\n?)*)+)", r"```text\n\1\n```\n", text, flags=re.MULTILINE)


if __name__ == "__main__":
    main()
