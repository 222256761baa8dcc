"""`fullbench export`: what a benchmark brings, as files that can be run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.common import say, show


def export(
    name: Annotated[str, typer.Argument(help="The benchmark, as `fullbench list` shows it.")],
    out: Annotated[Path, typer.Option(help="An empty folder to write to.")],
    data: Annotated[Path | None, typer.Option(help="The released data; the sample where left out.")] = None,
    subset: Annotated[
        str | None, typer.Option(help="Only what a judge got right (hq), or got wrong or hallucinated (hard).")
    ] = None,
    judge: Annotated[str | None, typer.Option(help="The judge that the subset is about.")] = None,
    people: Annotated[str, typer.Option(help="The judge whose verdicts are the labels.")] = "human",
) -> None:
    """Write a benchmark's items, responses, labels and verdicts as files, with a study that runs them.

    Examples:

        fullbench export mllm-as-a-judge --out sample && fullbench run sample/study.toml

        fullbench export mllm-as-a-judge --data mllm-as-a-judge --subset hard --judge GPT-4V --out hard
    """
    from fullbench.core.errors import InputError
    from fullbench.reports import subsets
    from fullbench.runs.export import export as write
    from fullbench.runs.recorded import recorded

    if (subset is None) != (judge is None):
        raise InputError("a subset is of a judge: give --subset and --judge together")
    brought = recorded(name, data)
    record = brought.record
    if subset is not None and judge is not None:
        if subset not in {"hq", "hard"}:
            raise InputError(f"unknown subset {subset!r}; known: hq, hard")
        record = subsets.subset(record, judge, "hq" if subset == "hq" else "hard", people=people)
    counts = write(record, out, benchmark=name, people=people)
    show(brought.tables, as_json=False)
    say(f"Written to {out}: {', '.join(f'{count:,} {what}' for what, count in counts.items())}.")
    say(f"Next: fullbench run {out / 'study.toml'}")
