"""What a user should know, at the end of a run, of how replies came and were read."""

from __future__ import annotations

from collections.abc import Iterator

from fullbench.studies.engines import Tally


def of_replies(tally: Tally) -> Iterator[str]:
    """Sentences on one judge's or contestant's replies.

    >>> from collections import Counter
    >>> list(of_replies(Tally("m@host+t0", done=3, served=Counter({"m-2024": 2, "other": 1}))))
    ['m@host+t0: the server says that other answered, not m (1 of 3 replies)']
    """
    cut, unsigned, estimated, thought, wordless = (
        tally.replies[kind] for kind in ("cut off", "unsigned", "estimated", "thoughts alone", "wordless")
    )
    if estimated:
        yield (
            f"{tally.name}: of {estimated:,} of {tally.done:,} replies the server did not say how many tokens they "
            "took, or said what no count is; their cost is estimated from their lengths"
        )
    if cut:
        yield (
            f"{tally.name}: {cut:,} replies were cut off by the limit on their length and rule nothing; raise "
            "max_tokens in the judge's spec (as in ?max_tokens=4096)"
        )
    if thought:
        yield (
            f"{tally.name}: {thought:,} of {tally.done:,} replies were thoughts alone and rule nothing; leave it more "
            "words (?max_tokens=4096), or let it think less (?effort=low, or its server's own setting in ?extra=)"
        )
    if wordless:
        yield (
            f"{tally.name}: {wordless:,} of {tally.done:,} replies had no words and rule nothing; `fullbench check` "
            "shows what this model answers"
        )
    if unsigned := unsigned - thought - wordless:
        asked = unsigned + tally.replies["signed"] + thought + wordless
        yield (
            f"{tally.name}: {unsigned:,} of {asked:,} replies ({unsigned / asked:.1%}) do not carry the nonce that "
            "their ruling was asked for with; they were read by the strict rule alone"
        )
    bare = (tally.model or tally.name).split("@")[0].split("+")[0]
    others = {name: count for name, count in tally.served.items() if not _alike(name, bare)}
    if others:
        named = ", ".join(sorted(others)[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        yield (
            f"{tally.name}: the server says that {named} answered, not {bare} ({sum(others.values()):,} of "
            f"{tally.served.total():,} replies)"
        )


def _alike(served: str, asked: str) -> bool:
    """Whether two names can be of one model: providers add a date or an owner, and files a folder."""
    one, other = served.lower(), asked.lower().rpartition("/")[2]
    return one.rpartition("/")[2] in asked.lower() or other in one
