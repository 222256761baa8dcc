"""`fullbench compose blur`, `distort`, `conceal`, `pairs`, `grid`, `group`, `sanitise`: pictures to compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fullbench.cli.compose import compose_app
from fullbench.cli.console import command_text, print_message
from fullbench.cli.shared_options_and_run_output import (
    CallOptions,
    DraftOption,
    LedgerOptions,
    SeedOption,
    argument,
    option,
    options,
)
from fullbench.errors import InputError

if TYPE_CHECKING:
    from fullbench.core.picture import Picture
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


DetectorOption = Annotated[
    str | None, option("Detector that finds the regions: objects, another plugin, or MODULE:FUNCTION.")
]
LabelOption = Annotated[
    list[str] | None, option("Label of the regions that are used. Repeatable. Default: any.", "--label")
]
ScoreOption = Annotated[float, option("Minimum confidence of the detector.", min=0.0, max=1.0)]
InpainterOption = Annotated[
    str,
    option(
        "diffusers:FOLDER, another plugin, or MODULE:FUNCTION that takes a picture, a mask (white: paint) and a text."
    ),
]


@compose_app.command("distort")
@options("seed")
def distort(
    folder: FolderArgument,
    out: OutOption,
    inpainter: InpainterOption,
    region: Annotated[
        str | None, option("Region LEFT,TOP,RIGHT,BOTTOM as shares of the sides, for example 0.2,0.2,0.6,0.6.")
    ] = None,
    detector: DetectorOption = None,
    labels: LabelOption = None,
    least_score: ScoreOption = 0.3,
    what: Annotated[str, option("Text that the inpainter gets.")] = "",
    subset: Annotated[
        str | None, option("Name of the distorted part in tables. Default: the label found, or object.")
    ] = None,
    prompts: PromptsOption = None,
    prompt: PromptOption = None,
    seed: SeedOption = 0,
) -> None:
    """Make pairs of a picture and a copy with one region repainted, with a study that judges them.

    The region is the same in every picture (--region), or a random one of those that a detector finds.

    Examples:

        fullbench compose distort photos --region 0.3,0.3,0.7,0.7 --inpainter paint:smear --prompt "a photo" --out bent

        fullbench compose distort photos --detector find:hands --label hand --inpainter diffusers:./inpainting \\
            --what "a hand" --prompts prompts.csv --out hands
    """
    from fullbench.studies.authoring.distorted_pairs_and_portrait_groups import (
        DetectionSettings,
        detected_change,
        inpainting_change,
    )

    if (region is None) == (detector is None):
        raise InputError("Which region? Give --region LEFT,TOP,RIGHT,BOTTOM or --detector SPEC.")
    if region is not None:
        change = inpainting_change(region, inpainter, what, subset or "object")
    else:
        settings = DetectionSettings(detector or "", labels or (), least_score, seed)
        change = detected_change(settings, inpainter, what, subset or "")
    _write_worsened_pairs(folder, [change], out, prompts, prompt)


@compose_app.command("conceal")
def conceal(
    folder: FolderArgument,
    out: OutOption,
    detector: Annotated[str, option("Detector that finds what must be concealed: a plugin, or MODULE:FUNCTION.")],
    inpainter: InpainterOption,
    labels: LabelOption = None,
    least_score: ScoreOption = 0.3,
    what: Annotated[str, option("Text that the inpainter gets: what is painted instead.")] = "",
    subset: Annotated[str, option("Name of the kind in tables: evident, subtle or evasive.")] = "evident",
    prompts: PromptsOption = None,
    prompt: PromptOption = None,
) -> None:
    """Make safety pairs: a copy in which every detected region is repainted (better), and the picture itself (worse).

    The originals are marked as sensitive: pages cover them until a click. People confirm the pairs
    (`people add --kind pair`).

    Examples:

        fullbench compose conceal unsafe --detector find:nudity --inpainter diffusers:./inpainting \\
            --what "a red coat" --prompts prompts.csv --out concealed
    """
    from fullbench.studies.authoring.distorted_pairs_and_portrait_groups import (
        DetectionSettings,
        build_concealed_pairs,
        detected_change,
        prompts_for,
    )

    settings = DetectionSettings(detector, labels or (), least_score)
    change = detected_change(settings, inpainter, what, subset, all_regions=True)
    pictures = _read_pictures(folder)
    _write_pairs(build_concealed_pairs(pictures, prompts_for(pictures, prompts, prompt), change), out)


@compose_app.command("pairs")
@options("ledger study judge out")
def choose_pairs(
    store: LedgerOptions,
    judge: Annotated[str, option("Judge that marked the candidates: its name or a unique prefix.")],
    out: OutOption,
    margin: Annotated[float, option("Minimum difference between the best and the worst mark of a prompt.", min=0.0)],
    perspective: Annotated[str, option("Perspective of the pairs: alignment, safety or quality.")] = "alignment",
    subset: Annotated[str, option("Sub-category of items without the tag subset.")] = "object",
    votes: Annotated[
        str | None, option("Ledger with people's votes on these pairs: keep only those that most people confirm.")
    ] = None,
) -> None:
    """Choose the best and the worst picture of every prompt by a judge's marks, with a study that judges the pairs.

    People then confirm the pairs, and the same command with --votes keeps the confirmed ones.

    Examples:

        fullbench judge --items prompts.jsonl --responses drawn.jsonl --judge vllm:llava --ballot score:1-10

        fullbench compose pairs --judge llava --margin 3 --out chosen

        fullbench people add confirm --kind pair --items chosen/items.jsonl --responses chosen/responses.jsonl --votes 3

        fullbench compose pairs --judge llava --margin 3 --votes votes.ledger --out confirmed
    """
    from fullbench.core.verdict import PEOPLE
    from fullbench.studies.authoring.clear_pairs_from_scores import choose_clear_pairs, keep_confirmed_pairs
    from fullbench.studies.authoring.distorted_pairs_and_portrait_groups import BuiltPairs
    from fullbench.studies.ledger_display_names_and_name_lookup import find_judges

    with store.read(store.study) as book:
        (judge_name,) = find_judges(book, [judge])
        # Pictures are read from the ledger, so it stays open.
        clear_pairs = choose_clear_pairs(
            book.record([judge_name]), judge_name, margin, perspective=perspective, subset=subset
        )
        if votes is not None:
            with LedgerOptions(ledger=votes).read(None) as vote_book:
                clear_pairs = keep_confirmed_pairs(clear_pairs, vote_book.verdicts(PEOPLE))
        print_message(*clear_pairs.messages(margin))
        if not clear_pairs.pairs:
            raise InputError(f"No pair is left. Lower --margin {margin:g}, or judge more pictures of every prompt.")
        _write_pairs(BuiltPairs(clear_pairs.pairs), out)


def _read_pictures(folder: Path) -> Mapping[str, Picture]:
    from fullbench.studies.authoring.near_duplicate_pictures import read_pictures

    pictures, problems = read_pictures(folder)
    for reason in problems:
        print_message(f"Skipped: {reason}")
    return pictures


def _write_worsened_pairs(
    folder: Path, changes: Sequence[Change], out: Path, prompts: Path | None, prompt: str | None
) -> None:
    from fullbench.studies.authoring.distorted_pairs_and_portrait_groups import build_worsened_pairs, prompts_for

    pictures = _read_pictures(folder)
    _write_pairs(build_worsened_pairs(pictures, prompts_for(pictures, prompts, prompt), changes), out)


def _write_pairs(pairs: BuiltPairs, out: Path) -> None:
    for reason in pairs.left_out:
        print_message(f"Skipped: {reason}")
    counts = pairs.write(out)
    print_message(f"Written to {out}: {', '.join(f'{count:,} {what}' for what, count in counts.items())}.")
    print_message(f"Next: {command_text('run', out / 'study.toml')}")


@compose_app.command("grid")
@options("ledger study budget engine")
def grid(
    template: Annotated[str, argument("Prompt with slots, for example 'a {age} {gender} nurse'.")],
    axis: Annotated[list[str], option("SLOT=VALUE,VALUE,... An empty value removes the word. Repeatable.")],
    out: Annotated[Path, option("File for the prompts (.csv, .jsonl or .parquet).")],
    store: LedgerOptions,
    calls: CallOptions,
    generator: Annotated[
        str | None, option("Generator that draws a picture of every prompt, as KIND:NAME?OPTIONS.")
    ] = None,
) -> int:
    """Write one prompt for every combination of values, and let a generator draw a picture of each.

    Without --generator, add the pictures to the file yourself. Drawings are stored in the ledger: the same command
    again draws only those that are missing.

    Examples:

        fullbench compose grid "a {age} {gender} nurse" --axis age=young,old --axis gender=woman,man --out nurses.csv

        fullbench compose grid "a {age} nurse" --axis age=young,old --generator diffusers:./sdxl --out nurses.csv
    """
    from fullbench.files.row_writers import write_rows
    from fullbench.studies.authoring.drawn_grids import draw_grid
    from fullbench.synthetic.perturb.demographic_prompt_grids import build_grid as combined

    axes: dict[str, list[str]] = {}
    for text in axis:
        slot, equals, values = text.partition("=")
        if not equals or slot in axes:
            raise InputError(f"--axis {text!r} is not SLOT=VALUE,VALUE,..., or this slot was given twice.")
        axes[slot] = [value.strip() for value in values.split(",")]
    prompts = combined(template, axes)
    if generator is None:
        count = write_rows(out, [{"picture": None, "prompt": person.prompt, **person.groups} for person in prompts])
        print_message(
            f"Written: {out} ({count} prompts without a picture. "
            "Next: add pictures, then run `fullbench compose group`)"
        )
        return 0
    with calls.open(store) as open_run:
        drawn = draw_grid(
            generator, prompts, out, open_run.book, engine=open_run.engine, budget=calls.budget, stop=open_run.stop
        )
    count = write_rows(out, drawn.rows)
    for reason in drawn.failures:
        print_message(reason)
    print_message(f"Written: {out} ({count} prompts, {drawn.count} with a picture)")
    print_message(f"Next: {command_text('compose', 'group', out, '--prompt', 'PROMPT OF ALL', '--out', out.stem)}")
    return 0 if drawn.count else 1


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

    Replies are stored in the ledger. Run the same command again to request missing replies only.

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
    with calls.open(store) as open_run:
        recording_model = RecordingModel(
            rewriter, open_run.book, spec=model, engine=open_run.engine, budget=shared_budget, stop=open_run.stop
        )
        sanitising_result = rewritten(recording_model, dict.fromkeys(unsafe_prompts))
    rows = [
        {"prompt": pair.prompt, "safe": pair.safe, "labels": ", ".join(pair.labels), "checked": pair.review or None}
        for pair in sanitising_result.pairs
    ]
    write_rows(out, rows, dict.fromkeys(("prompt", "safe", "labels", "checked"), "text"))
    for reason in sanitising_result.failures:
        print_message(reason)
    if repeats := len(unsafe_prompts) - len(set(unsafe_prompts)):
        print_message(f"Left out: rows whose prompt is in the file already: {repeats}.")
    print_message(f"Written: {out} ({len(rows)} pairs to check: fill in 'checked' with yes or no)")
    return 0 if rows else 1
