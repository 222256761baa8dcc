"""GenAI-Bench's released votes by people, and verdicts of seventeen judges on pairs of pictures, edits and videos.

People vote for a side, for "both good" or for "both bad". A judge is right if it says the same. Its `[[A=B]]` means
either kind of tie. A missing or malformed verdict is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from fullbench.benchmarks.mj_bench.reproduce.percentage_cells_and_printed_numbers import printed_numbers, share_cell
from fullbench.core.benchmark import Reproduced
from fullbench.files.release_rows import released_rows

TASKS = ("image_generation", "image_edition", "video_generation")
LEFT, RIGHT, BOTH_GOOD, BOTH_BAD, EITHER = "[[A>B]]", "[[B>A]]", "[[A=B=Good]]", "[[A=B=Bad]]", "[[A=B]]"
VOTES = {"leftvote": LEFT, "rightvote": RIGHT, "tievote": BOTH_GOOD, "bothbad_vote": BOTH_BAD}
_SIDES = (LEFT, RIGHT)
_FILE = "votes.csv"


@dataclass(frozen=True)
class Vote:
    """One pair: people's vote in verdict notation, and each judge's verdict (None if missing)."""

    task: str
    human: str
    judges: Mapping[str, str | None]


def read_votes(folder: str | Path) -> list[Vote]:
    """Read all votes of a release."""
    folder = Path(folder)
    vote_columns = ("task", "idx", "human_vote")
    votes = []
    for row in released_rows(folder, _FILE, vote_columns):
        human = VOTES[row.one_of("human_vote", tuple(VOTES))]
        judges = {name: value for name, value in row.values.items() if name not in vote_columns}
        votes.append(Vote(row.one_of("task", TASKS), human, judges))
    return votes


def is_right(verdict: str | None, human: str) -> bool:
    """Return True if a verdict equals people's vote.

    >>> is_right(EITHER, BOTH_BAD), is_right(LEFT, BOTH_BAD), is_right(None, LEFT)
    (True, False, False)
    """
    return verdict == human or (verdict == EITHER and human in {BOTH_GOOD, BOTH_BAD})


def genai_bench_cells(votes: Sequence[Vote]) -> Iterator[Reproduced]:
    """Yield accuracy in four classes, accuracy where both decided, and the share of wins in first place."""
    judges = list(votes[0].judges) if votes else []
    for judge in judges:
        accuracies = []
        for task in TASKS:
            pairs = [(vote.judges[judge], vote.human) for vote in votes if vote.task == task]
            if not pairs:
                continue
            hits = sum(is_right(verdict, human) for verdict, human in pairs)
            accuracies.append(round(100 * hits / len(pairs), 2))
            yield share_cell(f"{task}/{judge}/accuracy", hits, len(pairs), "results table of the repository")
            yield from _decided_cells(f"{task}/{judge}", pairs)
        name = f"average/{judge}"
        mean = round(fmean(accuracies), 6)
        yield Reproduced(
            name, mean, len(votes), paper=printed_numbers().get(name), source="results table of the repository"
        )


def _decided_cells(name: str, pairs: Sequence[tuple[str | None, str]]) -> Iterator[Reproduced]:
    decided_verdicts = [(verdict, human) for verdict, human in pairs if verdict in _SIDES]
    decided_pairs = [(verdict, human) for verdict, human in decided_verdicts if human in _SIDES]
    if decided_pairs:
        yield share_cell(
            f"{name}/acc_decided", sum(verdict == human for verdict, human in decided_pairs), len(decided_pairs)
        )
    if decided_verdicts:
        yield share_cell(
            f"{name}/first_position_share",
            sum(verdict == LEFT for verdict, _ in decided_verdicts),
            len(decided_verdicts),
        )
