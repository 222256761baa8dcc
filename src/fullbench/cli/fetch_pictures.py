"""`fullbench fetch-pictures`: download missing pictures into the folder of the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fullbench.cli.console import print_message, progress_bar
from fullbench.cli.shared_options_and_run_output import QuietOption, argument, option


def fetch_pictures(
    data: Annotated[Path, argument("File of items, or the data folder of a benchmark.")],
    benchmark: Annotated[str | None, option("Benchmark of the folder, if it is a release.")] = None,
    web: Annotated[
        bool, option("Download from the addresses in the data. Private networks are never contacted.", "--web")
    ] = False,
    rate: Annotated[float, option("Maximum downloads per second.", min=0.01)] = 2.0,
    limit: Annotated[int | None, option("Fetch only the first N missing pictures.", min=1)] = None,
    quiet: QuietOption = False,
) -> int:
    """Fetch missing pictures: from zip and Parquet files next to the data, and from the web.

    The pictures go to `images/` next to the data, with a list of sources and digests. Pictures that are there already
    are not fetched again, so you can run the command again after an interruption.

    Examples:

        fullbench fetch-pictures visit_bench_sandbox --benchmark visitbench --web

        fullbench fetch-pictures items.jsonl --web --rate 5
    """
    from fullbench.cache_dir import cache_folder
    from fullbench.core.item import WITHOUT_PICTURES
    from fullbench.files.item_response_verdict_files import read_items
    from fullbench.files.picture_access_policy import without_pictures
    from fullbench.files.picture_copies_from_web_and_archives import Fetcher
    from fullbench.studies import judge_contestant_and_benchmark_specs

    with without_pictures():
        items = list(
            read_items(data)
            if benchmark is None
            else judge_contestant_and_benchmark_specs.benchmark_from_name(benchmark).items(data)
        )
    names = [name for item in items for name in item.tags.get(WITHOUT_PICTURES, "").splitlines()]
    names = list(dict.fromkeys(names))
    folder = data if data.is_dir() else data.parent
    fetcher = Fetcher(folder, rate, cache_folder() / "web")
    with progress_bar("pictures", quiet=quiet) as step:
        fetch_result = fetcher.bring(names if limit is None else names[:limit], web=web, step=step)
    source_counts = (
        ", ".join(f"{count:,} from {place}" for place, count in sorted(fetch_result.counts_by_source.items())) or "none"
    )
    print_message(f"{len(names):,} pictures were missing. Found: {source_counts}. They are in {fetcher.images}.")
    for name, reason in list(fetch_result.errors.items())[:3]:
        print_message(f"{name}: {reason}")
    if fetch_result.errors:
        print_message(
            f"{len(fetch_result.errors):,} are still missing. Run the same command again to retry only these."
        )
    return 1 if fetch_result.errors else 0
