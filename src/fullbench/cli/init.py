"""`fullbench init`: a study of one's own after four questions."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import QuestionOption, say

_STUDY = """\
# A study: what is asked, who answers, who judges. Written by `fullbench init`.
# Try it:   fullbench check {file}            is every server there, and does it see pictures?
#           fullbench run {file} --limit 3    on three items
#           fullbench run {file}              on all; the same command goes on after an interruption
name = {name}

# What is asked: a folder of pictures with one question about each, or a file (.jsonl, .csv, .parquet) with the columns
# id, question and pictures.
items = {items}
{question}
# Who answers: models (contestants), a file of answers (responses: item, contestant, text), or both.
{answers}

# Who judges. `length` prefers longer answers and asks nobody: a judge that does no better is of no use.
judges = [{judges}]

# On what: "choice+tie" (pairs, both orders), "score:1-5" (each answer alone), "ranking" (all at once). Several may
# stand here. criteria = ["accuracy", "tone"] judges each by itself.
ballots = [{ballots}]

# People's verdicts to compare with: item, contestants, winner (or marks).
# labels = "labels.csv"

# Dollars for one run; it stops before they are spent.
# budget = 1.00

ledger = "fullbench.ledger"
report = "report.html"
"""


def init(
    file: Annotated[Path, typer.Argument(help="The study to write.")] = Path("study.toml"),
    items: Annotated[str | None, typer.Option(help="A folder of pictures, or a file of questions.")] = None,
    question: QuestionOption = None,
    responses: Annotated[str | None, typer.Option(help="A file of answers, where there are some.")] = None,
    contestants: Annotated[
        list[str] | None, typer.Option("--contestant", help="Who answers, as KIND:NAME?OPTIONS. Again for more.")
    ] = None,
    judges: Annotated[
        list[str] | None, typer.Option("--judge", help="Who judges, as KIND:NAME?OPTIONS. Again for more.")
    ] = None,
    ballots: Annotated[
        list[str] | None, typer.Option("--ballot", help="choice+tie, score:1-5, ranking... Again for more.")
    ] = None,
) -> None:
    """Write a study with comments, after four questions; what is given as an option is not asked.

    Examples:

        fullbench init

        fullbench init --items photos --question "What is shown?" --contestant "openai:one@http://localhost:8000/v1" \\
            --contestant "openai:two@http://localhost:8001/v1" --judge openai:gpt-4o --ballot choice+tie
    """
    from fullbench.errors import InputError
    from fullbench.studies.study_file import Study

    if file.exists():
        raise InputError("it is there already; choose another name, or move it away", path=file)
    items = items or _asked("--items", "1/4 What is asked? A folder of pictures, or a file of questions", "photos")
    folder = (file.parent / items).is_dir() or not Path(items).suffix
    if folder and question is None:
        question = _asked("--question", "    The question about each picture", "What is shown?")
    if not responses and not contestants:
        said = _asked(
            "--contestant or --responses",
            "2/4 Who answers? A file of answers, or models with a blank between them",
            "openai:NAME@http://localhost:8000/v1",
        )
        known = (".jsonl", ".csv", ".json", ".tsv", ".parquet")
        responses, contestants = (said, None) if said.endswith(known) else (None, said.split())
    judges = judges or _asked("--judge", "3/4 Who judges? Models, or length", "length").split()
    ballots = ballots or _asked("--ballot", "4/4 On what? choice+tie, score:1-5 or ranking", "choice+tie").split()
    answers = [f"responses = {json.dumps(responses, ensure_ascii=False)}"] if responses else []
    answers += [f"contestants = [{_listed(contestants)}]"] if contestants else []
    text = _STUDY.format(
        file=file, name=json.dumps(file.stem, ensure_ascii=False), items=json.dumps(items, ensure_ascii=False),
        question=f"question = {json.dumps(question, ensure_ascii=False)}\n" if question else "",
        answers="\n".join(answers), judges=_listed(judges), ballots=_listed(ballots),
    )  # fmt: skip
    _check(text, file, judges, contestants or [])
    missing = [name for name in (items, responses) if name and not (file.parent / name).exists()]
    from fullbench.files.writers import replacing

    with replacing(file) as part:
        part.write_text(text, encoding="utf-8")
    Study.read(file)
    say(f"Written: {file}")
    for name in missing:
        say(f"{name}: there is no such file or folder yet; paths are seen from the study's folder.")
    say(f"Next: fullbench check {file}; then: fullbench run {file} --limit 3")


def _listed(words: list[str] | None) -> str:
    return ", ".join(json.dumps(word, ensure_ascii=False) for word in words or [])


def _check(text: str, file: Path, judges: list[str], contestants: list[str]) -> None:
    """Refuse what a run would refuse, before anything is written."""
    import tempfile

    from fullbench.errors import InputError
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.study_file import Study

    for spec in judges:
        judge_and_model_specs.judge(spec)
    for spec in contestants:
        judge_and_model_specs.contestant(spec)
    with tempfile.TemporaryDirectory() as place:
        draft = Path(place) / file.name
        draft.write_text(text, encoding="utf-8")
        try:
            Study.read(draft)
        except InputError as error:
            raise InputError(str(error).replace(f"{place}{os.sep}", "")) from error


def _asked(option: str, prompt: str, default: str) -> str:
    """What a person types; where nobody can, a sentence that names the option."""
    from fullbench.errors import InputError

    if not sys.stdin.isatty():
        raise InputError(f"nobody is here to be asked ({prompt.strip()}): give {option}")
    answer: str = typer.prompt(prompt, default=default, err=True)
    return answer
