"""`fullbench check`: availability and features of a model server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fullbench.cli.console import print_message, print_tables
from fullbench.cli.shared_options_and_run_output import JsonOption, SafeOption, argument
from fullbench.errors import InputError

if TYPE_CHECKING:
    from fullbench.core.model import Model
    from fullbench.core.table import Table
    from fullbench.models.model_test_calls import ModelCheck


def check(
    target: Annotated[str, argument("Model (openai:NAME@URL), server (http://...) or study file.")],
    safe: SafeOption = False,
    as_json: JsonOption = False,
) -> int:
    """Check that models and servers work, and what they support.

    Each model gets one short question with a picture. The command shows whether pictures, JSON and logprobs work, and
    the rate limits and prices. Nothing is written to a ledger. For a server, it lists the served models; for a study,
    it also reads the data files.

    Examples:

        fullbench check http://localhost:8000/v1

        fullbench check "openai:qwen2-vl@http://localhost:8000/v1"

        fullbench check study.toml
    """
    from fullbench.models.model_test_calls import try_model

    models = _find_models(target, safe=safe)
    if not models:
        print_message("This study calls no model, so there is nothing to check.")
        return 0
    tested_models = [try_model(model) for model in models]
    print_tables([_check_table(tested_models)], as_json=as_json)
    for entry in tested_models:
        print_message(*_advice_lines(entry))
    return 0 if all(entry.works for entry in tested_models) else 1


_ADDRESS = re.compile(r"https?:|(?:localhost|\d+(?:\.\d+){3})(?:[:/]|$)|[\w-]+(?:\.[\w-]+)+(?::\d+|/)")
"""Address of a server: this machine, an IPv4 address, or a host name with a port or a path."""


def _find_models(target: str, *, safe: bool) -> list[Model]:
    from fullbench.models.model_test_calls import fetch_served_models
    from fullbench.models.wire.server_url_checks import fault_of
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.run import call_and_cost_plan

    if target.startswith(("http://", "https://")):
        if (fault := fault_of(target)) is not None:
            raise InputError(f"the address {target!r} {fault}")
        served_models = fetch_served_models(target)
        if isinstance(served_models, str):
            raise InputError(
                f"{target} lists no models ({served_models}). Is the server running, and does its address end in "
                "/v1? If it needs a key or lists no models, check one model: openai:NAME@URL?key_env=VARIABLE"
            )
        if not served_models:
            raise InputError(f"{target} serves no model. Load a model there first.")
        print_message(
            f"{target} serves {len(served_models)}: "
            f"{', '.join(served_models[:5])}{' ...' if len(served_models) > 5 else ''}"
        )
        return [
            judge_contestant_and_benchmark_specs.contestant_from_spec(f"openai:{name}@{target}")
            for name in served_models[:1]
        ]
    if _ADDRESS.match(target) and not Path(target).exists():
        address = re.sub(r"^https?:/*", "", target)
        raise InputError(f"{target!r} looks like an address. Write http://{address}, with /v1 if the server needs it.")
    if Path(target).suffix == ".toml" or Path(target).is_file():
        return _models_of_study(Path(target), safe=safe)
    if Path(target).is_dir():
        raise InputError(f"{target!r} is a folder. Give a server address, a model spec or a study file (.toml).")
    if Path(f"{target}.toml").is_file():
        raise InputError(f"No model or study {target!r}; did you mean {target}.toml?")
    called_models = call_and_cost_plan.models_of_judges([judge_contestant_and_benchmark_specs.judge_from_spec(target)])
    return list(called_models)


def _models_of_study(path: Path, *, safe: bool) -> list[Model]:
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.run import call_and_cost_plan
    from fullbench.studies.run.judging_study_kind import StudyRun
    from fullbench.studies.study_file import Study
    from fullbench.studies.study_file_sections_for_kinds_and_panels import JUDGING
    from fullbench.studies.study_file_trust import refuse_risks

    study = Study.read(path)
    for sentence in refuse_risks(study, safe=safe):
        print_message(f"{path}: {sentence} (--safe refuses this.)")
    if study.kind == JUDGING:
        study_run = StudyRun(study)
        counts = (
            f"{len(study_run.items):,} items, {len(study_run.input_responses):,} responses, "
            f"{len(study_run.labels):,} labels"
        )
        print_message(f"{path}: {counts} read.")
        print_message(*study_run.messages)
        models = [*study_run.contestants, *call_and_cost_plan.models_of_judges(study_run.judges)]
    else:
        judges = call_and_cost_plan.models_of_judges(
            [judge_contestant_and_benchmark_specs.judge_from_spec(spec) for spec in study.judges]
        )
        models = [
            *(judge_contestant_and_benchmark_specs.contestant_from_spec(spec) for spec in study.contestants),
            *judges,
        ]
    return list({model.name: model for model in models}.values())


def _check_table(tested_models: list[ModelCheck]) -> Table:
    from fullbench.core.table import Cell, Table

    word = {True: "yes", False: "no", None: None}
    rows: list[list[Cell]] = [
        [
            entry.name, word[entry.works], word[entry.sees], word[entry.json], word[entry.logprobs],
            *(entry.price or (None, None)),
            ", ".join(f"{value} {name}" for name, value in entry.limits.items()) or None,
            round(entry.seconds, 2) if entry.works else None,
        ]
        for entry in tested_models
    ]  # fmt: skip
    columns = ("model", "answers", "pictures", "JSON", "logprobs", "$ in", "$ out", "rate limits per minute", "seconds")
    notes = ["Prices are in dollars per million tokens."]
    return Table("check", "What works", columns, rows, notes)


def _advice_lines(entry: ModelCheck) -> list[str]:
    lines = []
    if entry.error:
        lines.append(f"{entry.name}: {entry.error}")
    if entry.works and entry.sees is False:
        reply_text = " ".join(entry.reply_text.split())[:120]
        reply_note = (
            f"its reply: {reply_text}"
            if reply_text
            else "the reply has no text: does the model only think, or call tools?"
        )
        lines.append(f"{entry.name}: it did not recognise the picture (blue left, yellow right); {reply_note}")
    base_name = entry.name.split("@")[0]
    if entry.listed_models is not None and not any(base_name.startswith(name) for name in entry.listed_models):
        lines.append(
            f"{entry.name}: the server does not list this model; it lists {', '.join(entry.listed_models[:5])}"
        )
    if entry.served_model and entry.served_model not in entry.name:
        lines.append(f"{entry.name}: the server names its model {entry.served_model}.")
    if entry.works and entry.price is None:
        lines.append(f"{entry.name}: its price is unknown. Give price_in and price_out, or install the extra `prices`.")
    return lines
