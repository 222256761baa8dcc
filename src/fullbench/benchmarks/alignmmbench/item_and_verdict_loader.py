"""Items and verdicts of AlignMMBench: the bundled sample, files in our own layout, or the release."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fullbench.benchmarks.alignmmbench import release_files
from fullbench.core.benchmark import LoadedData
from fullbench.core.item import Item
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_folder import own_items, own_record


def items(source: Path | None = None) -> Iterable[Item]:
    """Return items of the sample, of a file, of a folder with `items.jsonl`, or of the release."""
    if source is None:
        from fullbench.benchmarks.alignmmbench.bundled_sample_data import sample_items as sampled

        return sampled()
    return own_items(source) or list(release_files.build_items(release_files.read_questions(source), source))


def bring(source: Path | None = None) -> LoadedData:
    """Load items, responses and verdicts of a source.

    A release holds questions, and next to them `responses/NAME.jsonl` and `results/NAME.jsonl`, as its evaluator reads
    and writes them. A folder in our own layout holds `items.jsonl`, `responses.jsonl`, and optionally `labels.jsonl`
    (people's) and `verdicts.jsonl` (judges').
    """
    if source is None:
        from fullbench.benchmarks.alignmmbench.bundled_sample_data import sample_record

        return LoadedData(sample_record())
    if source.is_file():
        raise InputError("a file of items contains no answers. Name contestants or responses in the study", path=source)
    if (source / "items.jsonl").exists():
        return LoadedData(own_record(source))
    questions = release_files.read_questions(source)
    items_by_id = {item.id: item for item in release_files.build_items(questions, source)}
    responses = {
        (response.item, response.contestant): response
        for name, path in release_files.files_by_model(source, "responses").items()
        for response in release_files.read_responses(path, name, items_by_id)
    }
    verdicts = [
        verdict
        for name, path in release_files.files_by_model(source, "results").items()
        for verdict in release_files.read_ratings(path, name, items_by_id, responses)
    ]
    return LoadedData(
        Record(tuple(verdicts), items_by_id, responses), [release_files.oddities_table(questions, source)]
    )
