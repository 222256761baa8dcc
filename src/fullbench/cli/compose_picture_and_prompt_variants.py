"""`fullbench compose blur`, `distort`, `grid`, `group`, `sanitise`: pictures and prompts that differ in one thing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fullbench.cli.compose import compose_app
from fullbench.cli.console import command_text, print_message
from fullbench.cli.shared_options_and_run_output import (
    CallOptions,
    DraftOption,
    LedgerOptions,
    argument,
    option,
    options,
)
from fullbench.errors import InputError

if TYPE_CHECKING:
    from fullbench.studies.authoring.distorted_pairs_and_portrait_groups import BuiltPairs, Change

FolderArgument = Annotated[Path, argument("Folder of pictures.")]
OutOption = Annotated[Path, option("New or empty folder for the study.")]
PromptsOption = Annotated[Path | None, option("File with the columns picture and prompt: the prompt of each picture.")]
PromptOption = Annotated[str | None, option("One prompt for all pictures, instead of --prompts.")]


@compose_app.command("blur")
def blur(
    folder: FolderArgument,
    out: OutOption,
    defocus: Annotated[list[float] | None, option("Defocus blur: radius of the disk in pixels. Repeatable.")] = None,
    motion: Annotated[list[str] | None, option("Motion blur: LENGTH@ANGLE in pixels and degrees. Repeatable.")] = None,
    prompts: PromptsOption = None,
    prompt: PromptOption = None,
) -> None:
    """Make pairs of a picture and a blurred copy, of known strength and direction, with a study that judges them.

    Examples:

        fullbench compose blur photos --defocus 4 --motion 15@45 --prompt "a photo" --out blurred

        fullbench run blurred/study.toml
    """
    from fullbench.studies.authoring.distorted_pairs_and_portrait_groups import defocus_change, motion_change

    changes = [*map(defocus_change, defocus or []), *map(motion_change, motion or [])]
    if not changes:
        raise InputError("No blur given. Add --defocus RADIUS, --motion LENGTH@ANGLE or both.")
    _write_worsened_pairs(folder, changes, out, prompts, prompt)


@compose_app.command("distort")
def distort(
    folder: FolderArgument,
    out: OutOption,
    region: Annotated[str, option("Region LEFT,TOP,RIGHT,BOTTOM as shares of the sides, for example 0.2,0.2,0.6,0.6.")],
    inpainter: Annotated[
        str, option("MODULE:FUNCTION that takes a picture, a mask (white: paint) and a text and returns a picture.")
    ],
    what: Annotated[str, option("Text that the inpainter gets.")] = "",
    subset: Annotated[str, option("Name of the distorted part in tables.")] = "object",
    prompts: PromptsOption = None,
    prompt: PromptOption = None,
) -> None:
    """Make pairs of a picture and a copy with a region repainted by your own function, with a study that judges them.

    Examples:

        fullbench compose distort photos --region 0.3,0.3,0.7,0.7 --inpainter paint:smear --prompt "a photo" --out bent
    """
    from fullbench.studies.authoring.distorted_pairs_and_portrait_groups import inpainting_change

    _write_worsened_pairs(folder, [inpainting_change(region, inpainter, what, subset)], out, prompts, prompt)


def _write_worsened_pairs(
    folder: Path, changes: Sequence[Change], out: Path, prompts: Path | None, prompt: str | None
) -> None:
    from fullbench.studies.authoring.distorted_pairs_and_portrait_groups import build_worsened_pairs, prompts_for
    from fullbench.studies.authoring.near_duplicate_pictures import read_pictures

    pictures, problems = read_pictures(folder)
    for reason in problems:
        print_message(f"Skipped: {reason}")
    _write_pairs(build_worsened_pairs(pictures, prompts_for(pictures, prompts, prompt), changes), out)


def _write_pairs(pairs: BuiltPairs, out: Path) -> None:
    for reason in pairs.left_out:
        print_message(f"Skipped: {reason}")
    counts = pairs.write(out)
    print_message(f"Written to {out}: {', '.join(f'{count:,} {what}' for what, count in counts.items())}.")
    print_message(f"Next: {command_text('run', out / 'study.toml')}")


@compose_app.command("grid")
def grid(
    template: Annotated[str, argument("Prompt with slots, for example 'a {age} {gender} nurse'.")],
    axis: Annotated[list[str], option("SLOT=VALUE,VALUE,... An empty value removes the word. Repeatable.")],
    out: Annotated[Path, option("File for the prompts (.csv, .jsonl or .parquet).")],
) -> None:
    """Write one prompt for every combination of values. Then generate a picture for each prompt and add it to the file.

    Examples:

        fullbench compose grid "a {age} {gender} nurse" --axis age=young,old --axis gender=woman,man --out nurses.csv
    """
    from fullbench.files.row_writers import write_rows
    from fullbench.synthetic.perturb.demographic_prompt_grids import build_grid as combined

    axes: dict[str, list[str]] = {}
    for text in axis:
        slot, equals, values = text.partition("=")
        if not equals or slot in axes:
            raise InputError(f"--axis {text!r} is not SLOT=VALUE,VALUE,..., or this slot was given twice.")
        axes[slot] = [value.strip() for value in values.split(",")]
    rows = [{"picture": None, "prompt": person.prompt, **person.groups} for person in combined(template, axes)]
    count = write_rows(out, rows)
    print_message(
        f"Written: {out} ({count} prompts without a picture. Next: add pictures, then run `fullbench compose group`)"
    )


@compose_app.command("group")
def group(
    rows: Annotated[Path, argument("File that `compose grid` wrote, with a picture in every row.")],
    prompt: Annotated[str, option("Prompt that all pictures are judged by, for example 'a nurse'.")],
    out: OutOption,
    name: Annotated[str, option("Name of the item. Default: the name of the file.")] = "",
) -> None:
    """Make a study of one prompt and pictures of different people, to see whether a judge scores them the same.

    Examples:

        fullbench compose group nurses.csv --prompt "a nurse" --out nurses
    """
    from fullbench.studies.authoring.distorted_pairs_and_portrait_groups import build_people_group as grouped

    _write_pairs(grouped(name or rows.stem, prompt, rows), out)


@compose_app.command("sanitise")
@options("ledger budget engine")
def sanitise(
    prompts: Annotated[Path, argument("File of unsafe prompts, with the column prompt.")],
    model: Annotated[str, option("Model that rewrites them, as KIND:NAME?OPTIONS.")],
    out: DraftOption,
    store: LedgerOptions,
    calls: CallOptions,
) -> int:
    """Let a model rewrite unsafe prompts into safe ones and label them. A person checks each pair.

    Replies are stored in the ledger. Run the same command again to request only those that are missing.

    Examples:

        fullbench compose sanitise unsafe.csv --model openai:gpt-4o --out pairs.csv
    """
    from fullbench.files.row_readers import read_rows
    from fullbench.files.row_writers import write_rows
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.authoring.safe_prompt_rewrites import sanitise_prompts as rewritten
    from fullbench.studies.run import call_and_cost_plan
    from fullbench.studies.run.answer_items import RecordingModel

    unsafe_prompts = []
    for line, row in read_rows(prompts):
        if not isinstance(row.get("prompt"), str) or not row["prompt"].strip():
            raise InputError("A row has no prompt. Fill the column prompt.", path=prompts, line=line)
        unsafe_prompts.append(row["prompt"])
    rewriter = judge_contestant_and_benchmark_specs.contestant_from_spec(model)
    shared_budget = call_and_cost_plan.priced_budget(calls.budget, [rewriter]) if calls.budget is not None else None
    with calls.open(store) as opened:
        recording_model = RecordingModel(
            rewriter, opened.book, spec=model, engine=opened.engine, budget=shared_budget, stop=opened.stop
        )
        sanitising_result = rewritten(recording_model, dict.fromkeys(unsafe_prompts))
    rows = [
        {"prompt": pair.prompt, "safe": pair.safe, "labels": ", ".join(pair.labels), "checked": pair.review or None}
        for pair in sanitising_result.pairs
    ]
    write_rows(out, rows, dict.fromkeys(("prompt", "safe", "labels", "checked"), "text"))
    for reason in sanitising_result.failures:
        print_message(reason)
    print_message(f"Written: {out} ({len(rows)} pairs to check: fill in 'checked' with yes or no)")
    return 0 if rows else 1
