"""`fullbench init`: write a study file after four questions."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.console import command_text, print_message
from fullbench.cli.shared_options_and_run_output import InputOptions, argument, option, options
from fullbench.errors import InputError

_STUDY = """\
# A study: items, contestants and judges. Written by `fullbench init`.
# Try it:   fullbench check {file}            check that every server works and accepts pictures
#           fullbench run {file} --limit 3    run on three items
#           fullbench run {file}              run on all items; repeat it to continue after an interruption
name = {name}

# Items: a folder of pictures with one question about each, or a file (.jsonl, .csv, .parquet) with the columns
# id, question and pictures.
items = {items}
{question}
# Answers: models (contestants), a file of responses (item, contestant, text), or both.
{answers}

# Judges. `length` prefers longer answers and calls no model. A useful judge must do better than `length`.
judges = [{judges}]

# Ballots: "choice+tie" (pairs, both orders), "score:1-5" (each answer alone), "ranking" (all at once). You can list
# several. criteria = ["accuracy", "tone"] judges each criterion separately.
ballots = [{ballots}]

# People's verdicts to compare with: item, contestants, winner (or marks).
# labels = "labels.csv"

# Budget of one run in dollars. The run stops before it spends more.
# budget = 1.00

ledger = "fullbench.ledger"
report = "report.html"
"""


@options("question responses contestants judges ballots")
def init(
    inputs: InputOptions,
    file: Annotated[Path, argument("Study file to write.")] = Path("study.toml"),
    items: Annotated[str | None, option("Items: a folder of pictures, or a file of questions.")] = None,
    responses: Annotated[str | None, option("File of responses, if they exist already.")] = None,
    contestants: Annotated[
        list[str] | None, option("Model that answers, as KIND:NAME?OPTIONS. Repeatable.", "--contestant")
    ] = None,
    judges: Annotated[list[str] | None, option("Judge, as KIND:NAME?OPTIONS. Repeatable.", "--judge")] = None,
    ballots: Annotated[
        list[str] | None,
        option("Ballot: score:1-5, choice, choice+tie, choice:5, ranking, ... Repeatable.", "--ballot"),
    ] = None,
) -> None:
    """Write a study file. Four questions ask for what it needs.

    Each option answers one question in advance.

    Examples:

        fullbench init

        fullbench init --items photos --question "What is shown?" --contestant "openai:one@http://localhost:8000/v1" \
            --contestant "openai:two@http://localhost:8001/v1" --judge openai:gpt-4o --ballot choice+tie
    """
    from fullbench.studies.study_file import Study

    if file.exists():
        raise InputError("This file exists already. Choose another name, or move it away.", path=file)
    items = items or _prompt_user("--items", "1/4 Which items? A folder of pictures, or a file of questions", "photos")
    is_folder = (file.parent / items).is_dir() or not Path(items).suffix
    question = inputs.question
    if is_folder and question is None:
        question = _prompt_user("--question", "    Question about each picture", "What is shown?")
    if not responses and not contestants:
        answer_text = _prompt_user(
            "--contestant or --responses",
            "2/4 Which answers? A file of responses, or models separated by spaces",
            "openai:NAME@http://localhost:8000/v1",
        )
        file_suffixes = (".jsonl", ".csv", ".json", ".tsv", ".parquet")
        responses, contestants = (
            (answer_text, None) if answer_text.endswith(file_suffixes) else (None, answer_text.split())
        )
    judges = (
        judges or _prompt_user("--judge", "3/4 Which judges? Models separated by spaces, or length", "length").split()
    )
    ballots = (
        ballots or _prompt_user("--ballot", "4/4 Which ballot? choice+tie, score:1-5 or ranking", "choice+tie").split()
    )
    answers = [f"responses = {json.dumps(responses, ensure_ascii=False)}"] if responses else []
    answers += [f"contestants = [{_toml_strings(contestants)}]"] if contestants else []
    text = _STUDY.format(
        file=file, name=json.dumps(file.stem, ensure_ascii=False), items=json.dumps(items, ensure_ascii=False),
        question=f"question = {json.dumps(question, ensure_ascii=False)}\n" if question else "",
        answers="\n".join(answers), judges=_toml_strings(judges), ballots=_toml_strings(ballots),
    )  # fmt: skip
    _check_study_text(text, file, judges, contestants or [])
    missing = [name for name in (items, responses) if name and not (file.parent / name).exists()]
    from fullbench.files.row_writers import replace_atomically

    with replace_atomically(file) as part:
        part.write_text(text, encoding="utf-8")
    Study.read(file)
    print_message(f"Written: {file}")
    for name in missing:
        print_message(f"{name}: no such file or folder yet. Paths are relative to the folder of the study.")
    print_message(f"Next: {command_text('check', file)}", f"Then: {command_text('run', file, '--limit', 3)}")


def _toml_strings(words: list[str] | None) -> str:
    return ", ".join(json.dumps(word, ensure_ascii=False) for word in words or [])


def _check_study_text(text: str, file: Path, judges: list[str], contestants: list[str]) -> None:
    import tempfile

    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.study_file import Study

    for spec in judges:
        judge_contestant_and_benchmark_specs.judge_from_spec(spec)
    for spec in contestants:
        judge_contestant_and_benchmark_specs.contestant_from_spec(spec)
    with tempfile.TemporaryDirectory() as place:
        draft = Path(place) / file.name
        draft.write_text(text, encoding="utf-8")
        try:
            Study.read(draft)
        except InputError as error:
            raise InputError(str(error).replace(f"{place}{os.sep}", "")) from error


def _prompt_user(option: str, prompt: str, default: str) -> str:
    """Ask for a value; without a terminal, refuse and name the option."""
    if not sys.stdin.isatty():
        raise InputError(
            f"init cannot ask questions here, because there is no terminal. Add {option}. ({prompt.strip()})"
        )
    answer: str = typer.prompt(prompt, default=default, err=True)
    return answer
