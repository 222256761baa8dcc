"""`fullbench compose blur`, `distort`, `grid`, `group`, `sanitise`: pictures and prompts that differ in one thing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.cli.compose import compose_app
from fullbench.cli.options import DEFAULT_LEDGER, BudgetOption, EngineOption, LedgerOption, asking_from, say, stoppable

if TYPE_CHECKING:
    from fullbench.studies.authoring.picture_pairs import Built, Change

FolderArgument = Annotated[Path, typer.Argument(help="A folder of pictures.")]
OutOption = Annotated[Path, typer.Option(help="A folder to write the study to; it must be new or empty.")]
PromptsOption = Annotated[
    Path | None, typer.Option(help="What each picture shows: a file with the columns picture and prompt.")
]
PromptOption = Annotated[str | None, typer.Option(help="One prompt for all pictures, in place of --prompts.")]


@compose_app.command("blur")
def blur(
    folder: FolderArgument,
    out: OutOption,
    defocus: Annotated[
        list[float] | None, typer.Option(help="Out of focus: the radius of the disk in pixels. Again for more.")
    ] = None,
    motion: Annotated[
        list[str] | None,
        typer.Option(help="A moving camera: LENGTH@ANGLE in pixels and degrees. Again for more."),
    ] = None,
    prompts: PromptsOption = None,
    prompt: PromptOption = None,
) -> None:
    """Make pairs of a picture and a blurred one, of stated strength and direction, with a study that judges them.

    Examples:

        fullbench compose blur photos --defocus 4 --motion 15@45 --prompt "a photo" --out blurred

        fullbench run blurred/study.toml
    """
    from fullbench.errors import InputError
    from fullbench.studies.authoring.picture_pairs import defocused, moved

    changes = [*map(defocused, defocus or []), *map(moved, motion or [])]
    if not changes:
        raise InputError("how blurred? Give --defocus RADIUS, --motion LENGTH@ANGLE or both")
    _worsen(folder, changes, out, prompts, prompt)


@compose_app.command("distort")
def distort(
    folder: FolderArgument,
    out: OutOption,
    region: Annotated[str, typer.Option(help="LEFT,TOP,RIGHT,BOTTOM in shares of the sides: 0.2,0.2,0.6,0.6.")],
    inpainter: Annotated[
        str, typer.Option(help="MODULE:FUNCTION of a picture, a mask (white: paint) and words, that gives a picture.")
    ],
    what: Annotated[str, typer.Option(help="The words that the inpainter is given.")] = "",
    subset: Annotated[str, typer.Option(help="What is distorted, as tables will name it.")] = "object",
    prompts: PromptsOption = None,
    prompt: PromptOption = None,
) -> None:
    """Make pairs of a picture and one with a region painted anew by your own function, with a study that judges them.

    Examples:

        fullbench compose distort photos --region 0.3,0.3,0.7,0.7 --inpainter paint:smear --prompt "a photo" --out bent
    """
    from fullbench.studies.authoring.picture_pairs import painted

    _worsen(folder, [painted(region, inpainter, what, subset)], out, prompts, prompt)


def _worsen(folder: Path, changes: Sequence[Change], out: Path, prompts: Path | None, prompt: str | None) -> None:
    from fullbench.studies.authoring.compose_benchmark import read_pictures
    from fullbench.studies.authoring.picture_pairs import prompts_for, worsened

    pictures, wrong = read_pictures(folder)
    for reason in wrong:
        say(f"Left out: {reason}")
    _write(worsened(pictures, prompts_for(pictures, prompts, prompt), changes), out)


def _write(built: Built, out: Path) -> None:
    for reason in built.left_out:
        say(f"Left out: {reason}")
    counts = built.write(out)
    say(f"Written to {out}: {', '.join(f'{count:,} {what}' for what, count in counts.items())}.")
    say(f"Next: fullbench run {out / 'study.toml'}")


@compose_app.command("grid")
def grid(
    template: Annotated[str, typer.Argument(help="A prompt with slots: 'a {age} {gender} nurse'.")],
    axis: Annotated[list[str], typer.Option(help="SLOT=VALUE,VALUE,...; an empty value leaves the word out.")],
    out: Annotated[Path, typer.Option(help="Write the prompts here (.csv, .jsonl or .parquet).")],
) -> None:
    """Write every combination of a template's values as prompts; draw a picture for each and name it in the file.

    Examples:

        fullbench compose grid "a {age} {gender} nurse" --axis age=young,old --axis gender=woman,man --out nurses.csv
    """
    from fullbench.errors import InputError
    from fullbench.files.writers import write_rows
    from fullbench.synthetic.perturb.demographic_grids import grid as combined

    axes: dict[str, list[str]] = {}
    for text in axis:
        slot, equals, values = text.partition("=")
        if not equals or slot in axes:
            raise InputError(f"an axis is SLOT=VALUE,VALUE,... and given once; found {text!r}")
        axes[slot] = [value.strip() for value in values.split(",")]
    rows = [{"picture": None, "prompt": person.prompt, **person.groups} for person in combined(template, axes)]
    count = write_rows(out, rows)
    say(f"Written: {out} ({count} prompts that wait for a picture; then: fullbench compose group)")


@compose_app.command("group")
def group(
    rows: Annotated[Path, typer.Argument(help="The file that `grid` wrote, with a picture in every row.")],
    prompt: Annotated[str, typer.Option(help="What all pictures are judged by: 'a nurse'.")],
    out: OutOption,
    name: Annotated[str, typer.Option(help="The name of the item; the file's own where left out.")] = "",
) -> None:
    """Make a study of one prompt and pictures of different people: does a judge score them alike?

    Examples:

        fullbench compose group nurses.csv --prompt "a nurse" --out nurses
    """
    from fullbench.studies.authoring.picture_pairs import group as grouped

    _write(grouped(name or rows.stem, prompt, rows), out)


@compose_app.command("sanitise")
def sanitise(
    prompts: Annotated[Path, typer.Argument(help="Unsafe prompts: a file with the column prompt.")],
    model: Annotated[str, typer.Option(help="Who writes them again, as KIND:NAME?OPTIONS.")],
    out: Annotated[Path, typer.Option(help="Write the queue for people here (.csv, .jsonl or .parquet).")],
    ledger: LedgerOption = DEFAULT_LEDGER,
    budget: BudgetOption = None,
    engine: EngineOption = None,
) -> int:
    """Let a model write prompts again without what makes them unsafe, and label them; a person checks each.

    Replies are kept in the ledger: the same command asks only for what is missing.

    Examples:

        fullbench compose sanitise unsafe.csv --model openai:gpt-4o --out pairs.csv
    """
    from fullbench.errors import InputError
    from fullbench.files.readers import read_rows
    from fullbench.files.writers import write_rows
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.authoring.safe_prompts import sanitise as rewritten
    from fullbench.studies.run import study_plan
    from fullbench.studies.run.answer_items import Kept

    asked = []
    for line, row in read_rows(prompts):
        if not isinstance(row.get("prompt"), str) or not row["prompt"].strip():
            raise InputError("a row has a prompt; found none", path=prompts, line=line)
        asked.append(row["prompt"])
    who = judge_and_model_specs.contestant(model)
    purse = study_plan.purse(budget, [who]) if budget is not None else None
    with asking_from(engine) as where, Ledger(ledger) as book, stoppable() as stop:
        keeping = Kept(who, book, spec=model, engine=where, budget=purse, stop=stop)
        done = rewritten(keeping, dict.fromkeys(asked))
    rows = [
        {"prompt": pair.prompt, "safe": pair.safe, "labels": ", ".join(pair.labels), "checked": pair.checked or None}
        for pair in done.pairs
    ]
    write_rows(out, rows, dict.fromkeys(("prompt", "safe", "labels", "checked"), "text"))
    for reason in done.failed:
        say(reason)
    say(f"Written: {out} ({len(rows)} pairs that wait: fill in 'checked' with yes or no)")
    return 0 if rows else 1
