"""Pictures of a demographic grid, drawn by a generator and named in the grid's file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.files.row_writers import replace_atomically
from fullbench.ledger.ledger import Ledger
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.authoring.distorted_pairs_and_portrait_groups import REFUSED
from fullbench.studies.engines import HERE, Engine, Stop
from fullbench.studies.run import call_and_cost_plan
from fullbench.studies.run.answer_items import collect_answers
from fullbench.synthetic.perturb.demographic_prompt_grids import GridPrompt

_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}


@dataclass
class DrawnGrid:
    """Rows of the grid's file with their pictures, and why some have none."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    count: int = 0


def draw_grid(
    spec: str,
    prompts: Sequence[GridPrompt],
    out: Path,
    ledger: Ledger,
    *,
    engine: Engine = HERE,
    budget: float | None = None,
    stop: Stop | None = None,
) -> DrawnGrid:
    """Draw a picture for every prompt, through the ledger, and write it next to the grid's file.

    Args:
        spec: Spec of the generator.
        prompts: The prompts, with the groups of each person.
        out: The grid's file; pictures go to a folder of its name.
        ledger: Ledger that stores the drawings.
        engine: Engine of the calls.
        budget: Dollars that may be spent.
        stop: Stop of the run.
    """
    generator = judge_contestant_and_benchmark_specs.contestant_from_spec(spec)
    shared_budget = None if budget is None else call_and_cost_plan.priced_budget(budget, [generator])
    items = [Item.ask(f"grid-{digest(person.prompt)[:12]}", person.prompt) for person in prompts]
    (counts,) = collect_answers(
        [generator], items, ledger, engine=engine, specs={generator.name: spec}, budget=shared_budget, stop=stop
    )
    stored = ledger.responses(generator.name, item_keys=[item.key for item in items])
    drawings = {response.item: response for response in stored if response.sample == 0}
    why = counts.stop_reason or next(iter(counts.failures), "the call failed")
    drawn = DrawnGrid()
    folder = out.with_name(f"{out.stem}-pictures")
    for place, (person, item) in enumerate(zip(prompts, items, strict=True)):
        row: dict[str, Any] = {"picture": None, "prompt": person.prompt, **person.groups, REFUSED: None}
        if item.id not in drawings:
            drawn.failures.append(f"{person.prompt!r} was not drawn: {why}. Run the command again.")
        elif not drawings[item.id].pictures:
            row[REFUSED] = "yes"
            drawn.failures.append(f"{person.prompt!r} was refused by the generator.")
        else:
            picture = drawings[item.id].pictures[0]
            path = folder / f"{place:03d}.{_SUFFIXES.get(picture.media_type, 'png')}"
            with replace_atomically(path) as part:
                part.write_bytes(picture.data())
            row["picture"] = f"{folder.name}/{path.name}"
            drawn.count += 1
        drawn.rows.append(row)
    if not any(row[REFUSED] for row in drawn.rows):
        drawn.rows = [{key: value for key, value in row.items() if key != REFUSED} for row in drawn.rows]
    return drawn
