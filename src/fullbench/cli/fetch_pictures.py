"""`fullbench fetch-pictures`: bring the pictures that data name into the data's own folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import bar, say


def fetch_pictures(
    data: Annotated[Path, typer.Argument(help="A file of items, or a benchmark's data folder.")],
    benchmark: Annotated[str | None, typer.Option(help="Whose data the folder holds, where it is a release.")] = None,
    web: Annotated[
        bool, typer.Option("--web", help="Fetch from the addresses that the data name; never from private networks.")
    ] = False,
    rate: Annotated[float, typer.Option(min=0.01, help="At most so many a second from the web.")] = 2.0,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many of those that are not there yet.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress display.")] = False,
) -> int:
    """Bring in the pictures that items name and that are not here: out of zips and Parquet files, and from the web.

    They go to `images/` beside the data, with a list of where each came from and its digest. What is there is not
    fetched again, so the same command goes on after an interruption.

    Examples:

        fullbench fetch-pictures visit_bench_sandbox --benchmark visitbench --web

        fullbench fetch-pictures items.jsonl --web --rate 5
    """
    from fullbench.cache_dir import cache_folder
    from fullbench.core.item import WITHOUT_PICTURES
    from fullbench.files.fetch_pictures import Fetcher
    from fullbench.files.item_files import read_items
    from fullbench.files.picture_access_policy import without_pictures
    from fullbench.studies import judge_and_model_specs

    with without_pictures():
        items = list(read_items(data) if benchmark is None else judge_and_model_specs.benchmark(benchmark).items(data))
    names = [name for item in items for name in item.tags.get(WITHOUT_PICTURES, "").splitlines()]
    names = list(dict.fromkeys(names))
    folder = data if data.is_dir() else data.parent
    fetcher = Fetcher(folder, rate, cache_folder() / "web")
    with bar("pictures", quiet=quiet) as step:
        done = fetcher.bring(names if limit is None else names[:limit], web=web, step=step)
    came = ", ".join(f"{count:,} from {place}" for place, count in sorted(done.brought.items())) or "none"
    say(f"{len(names):,} pictures were missing; brought in: {came}; they are in {fetcher.images}.")
    for name, reason in list(done.failed.items())[:3]:
        say(f"{name}: {reason}")
    if done.failed:
        say(f"{len(done.failed):,} are still missing; the same command tries these alone.")
    return 1 if done.failed else 0
