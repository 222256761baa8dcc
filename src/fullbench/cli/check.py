"""`fullbench check`: is the server there, and can what it serves be a judge?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.cli.options import JsonOption, SafeOption, say, show

if TYPE_CHECKING:
    from fullbench.core.model import Model
    from fullbench.core.table import Table
    from fullbench.models.check_model import Tried


def check(
    target: Annotated[
        str, typer.Argument(help="A model (openai:NAME@URL), a server (http://...), or a study (study.toml).")
    ],
    safe: SafeOption = False,
    as_json: JsonOption = False,
) -> int:
    """Ask each model one tiny question with a picture, and say what works: pictures, JSON, logprobs, limits, price.

    Nothing is written to a ledger. A server is asked for the models that it serves; a study's files are read as well.

    Examples:

        fullbench check http://localhost:8000/v1

        fullbench check "openai:qwen2-vl@http://localhost:8000/v1"

        fullbench check study.toml
    """
    from fullbench.models.check_model import try_model

    models = _models(target, safe=safe)
    if not models:
        say("No model is asked here: nothing needs a server, a key or a price.")
        return 0
    tried = [try_model(model) for model in models]
    show([_table(tried)], as_json=as_json)
    for entry in tried:
        for line in _sentences(entry):
            say(line)
    return 0 if all(entry.works for entry in tried) else 1


_ADDRESS = re.compile(r"https?:|(?:localhost|\d+(?:\.\d+){3})(?:[:/]|$)|[\w-]+(?:\.[\w-]+)+(?::\d+|/)")
"""What is meant as the address of a server: this machine, numbers with dots, or a name with a port or a path."""


def _models(target: str, *, safe: bool) -> list[Model]:
    from fullbench.errors import InputError
    from fullbench.models.check_model import served_at
    from fullbench.models.wire.server_urls import fault_of
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.run import study_plan

    if target.startswith(("http://", "https://")):
        if (fault := fault_of(target)) is not None:
            raise InputError(f"the address {target!r} {fault}")
        listed = served_at(target)
        if isinstance(listed, str):
            raise InputError(
                f"{target} lists no models ({listed}): is the server running, and does its address end in /v1? Where "
                "it needs a key or lists none, check a model of it: openai:NAME@URL?key_env=VARIABLE"
            )
        if not listed:
            raise InputError(f"{target} serves no model at all: load one there first")
        say(f"{target} serves {len(listed)}: {', '.join(listed[:5])}{' ...' if len(listed) > 5 else ''}")
        return [judge_and_model_specs.contestant(f"openai:{name}@{target}") for name in listed[:1]]
    if _ADDRESS.match(target) and not Path(target).exists():
        bare = re.sub(r"^https?:/*", "", target)
        raise InputError(f"{target!r} looks like an address; write http://{bare}, with /v1 where the server has it")
    if Path(target).suffix == ".toml" or Path(target).is_file():
        return _of_study(Path(target), safe=safe)
    if Path(target).is_dir():
        raise InputError(f"{target!r} is a folder; give a server's address, a model's spec, or a study (.toml)")
    asked = study_plan.models_asked([judge_and_model_specs.judge(target)])
    return list(asked)


def _of_study(path: Path, *, safe: bool) -> list[Model]:
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.run import study_plan
    from fullbench.studies.run.study_run import Conductor
    from fullbench.studies.study_file import Study
    from fullbench.studies.study_file_tables import JUDGING
    from fullbench.studies.study_file_trust import refuse_risks

    study = Study.read(path)
    for sentence in refuse_risks(study, safe=safe):
        say(f"{path}: {sentence} (--safe refuses that)")
    if study.kind == JUDGING:
        conductor = Conductor(study)
        counts = f"{len(conductor.items):,} items, {len(conductor.given):,} responses, {len(conductor.labels):,} labels"
        say(f"{path}: {counts} read.")
        for line in conductor.said:
            say(line)
        models = [*conductor.contestants, *study_plan.models_asked(conductor.judges)]
    else:
        judges = study_plan.models_asked([judge_and_model_specs.judge(spec) for spec in study.judges])
        models = [*(judge_and_model_specs.contestant(spec) for spec in study.contestants), *judges]
    return list({model.name: model for model in models}.values())


def _table(tried: list[Tried]) -> Table:
    from fullbench.core.table import Cell, Table

    word = {True: "yes", False: "no", None: None}
    rows: list[list[Cell]] = [
        [
            entry.name, word[entry.works], word[entry.sees], word[entry.json], word[entry.logprobs],
            *(entry.price or (None, None)),
            ", ".join(f"{value} {name}" for name, value in entry.limits.items()) or None,
            round(entry.seconds, 2) if entry.works else None,
        ]
        for entry in tried
    ]  # fmt: skip
    columns = ("model", "answers", "pictures", "JSON", "logprobs", "$ in", "$ out", "limits a minute", "seconds")
    notes = ["Dollars are for a million tokens."]
    return Table("check", "What works", columns, rows, notes)


def _sentences(entry: Tried) -> list[str]:
    """What a person should do, or know, about one model."""
    lines = []
    if entry.error:
        lines.append(f"{entry.name}: {entry.error}")
    if entry.works and entry.sees is False:
        said = " ".join(entry.said.split())[:120]
        told = f"it said: {said}" if said else "it said nothing in words: does it only think, or call tools?"
        lines.append(f"{entry.name}: it did not see the picture (blue left, yellow right); {told}")
    bare = entry.name.split("@")[0]
    if entry.listed is not None and not any(bare.startswith(name) for name in entry.listed):
        lines.append(f"{entry.name}: the server does not list this model; it lists {', '.join(entry.listed[:5])}")
    if entry.served and entry.served not in entry.name:
        lines.append(f"{entry.name}: the server says that {entry.served} answered.")
    if entry.works and entry.price is None:
        lines.append(f"{entry.name}: its price is not known; give price_in and price_out, or install the extra prices")
    return lines
