"""Messages on unusual replies at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator

from fullbench.studies.engines import JobCounts


def reply_messages(counts: JobCounts) -> Iterator[str]:
    """Yield messages on the replies of one judge or contestant.

    >>> from collections import Counter
    >>> list(reply_messages(JobCounts("m@host+t0", finished_count=3, served_models=Counter({"m-2024": 2, "other": 1}))))
    ['m@host+t0: the server says that other answered, not m (1 of 3 replies)']
    """
    cut_count, unsigned_count, estimated_count, thought_count, wordless_count = (
        counts.replies[kind] for kind in ("cut off", "unsigned", "estimated", "thoughts alone", "wordless")
    )
    if estimated_count:
        yield (
            f"{counts.name}: of {estimated_count:,} of {counts.finished_count:,} replies the server did not say "
            "how many tokens they "
            "took, or said what no count is; their cost is estimated from their lengths"
        )
    if cut_count:
        yield (
            f"{counts.name}: {cut_count:,} replies were cut off by the limit on their length and rule nothing; raise "
            "max_tokens in the judge's spec (as in ?max_tokens=4096)"
        )
    if thought_count:
        yield (
            f"{counts.name}: {thought_count:,} of {counts.finished_count:,} replies were thoughts alone and "
            "rule nothing; leave it more "
            "words (?max_tokens=4096), or let it think less (?effort=low, or its server's own setting in ?extra=)"
        )
    if wordless_count:
        yield (
            f"{counts.name}: {wordless_count:,} of {counts.finished_count:,} replies had no words and rule "
            "nothing; `fullbench check` "
            "shows what this model answers"
        )
    if unsigned_count := unsigned_count - thought_count - wordless_count:
        checked_count = unsigned_count + counts.replies["signed"] + thought_count + wordless_count
        yield (
            f"{counts.name}: {unsigned_count:,} of {checked_count:,} replies "
            f"({unsigned_count / checked_count:.1%}) do not carry the nonce that "
            "their ruling was asked for with; they were read by the strict rule alone"
        )
    model_name = (counts.model or counts.name).split("@")[0].split("+")[0]
    other_models = {
        name: count for name, count in counts.served_models.items() if not _may_be_same_model(name, model_name)
    }
    if other_models:
        names_text = ", ".join(sorted(other_models)[:3]) + (
            f" and {len(other_models) - 3} more" if len(other_models) > 3 else ""
        )
        yield (
            f"{counts.name}: the server says that {names_text} answered, not {model_name} "
            f"({sum(other_models.values()):,} of "
            f"{counts.served_models.total():,} replies)"
        )


def _may_be_same_model(served_name: str, requested_name: str) -> bool:
    """Return True if the names may mean one model: providers add a date or owner, files a folder."""
    served_text, requested_base = served_name.lower(), requested_name.lower().rpartition("/")[2]
    return served_text.rpartition("/")[2] in requested_name.lower() or requested_base in served_text
