"""GenAI-Bench's released votes: people's, and the verdicts of seventeen judges on pairs of pictures, edits and videos.

People vote for a side, for a tie of good ones, or for neither. A judge is right when it says the same; its `[[A=B]]`
stands for either kind of tie; nothing found, and anything malformed, is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from fullbench.benchmarks.mj_bench.reproduce.cells_and_printed_numbers import printed, share_cell
from fullbench.core.reproduction import Reproduced
from fullbench.files.release_rows import released_rows

TASKS = ("image_generation", "image_edition", "video_generation")
LEFT, RIGHT, BOTH_GOOD, BOTH_BAD, EITHER = "[[A>B]]", "[[B>A]]", "[[A=B=Good]]", "[[A=B=Bad]]", "[[A=B]]"
VOTES = {"leftvote": LEFT, "rightvote": RIGHT, "tievote": BOTH_GOOD, "bothbad_vote": BOTH_BAD}
_SIDES = (LEFT, RIGHT)
_FILE = "votes.csv"


@dataclass(frozen=True)
class Vote:
    """One pair: what people voted, in the words of a verdict, and each judge's verdict; None where none was found."""

    task: str
    human: str
    judges: Mapping[str, str | None]


def read(folder: str | Path) -> list[Vote]:
    """All votes of a release."""
    folder = Path(folder)
    own = ("task", "idx", "human_vote")
    votes = []
    for row in released_rows(folder, _FILE, own):
        human = VOTES[row.one_of("human_vote", tuple(VOTES))]
        judges = {name: value for name, value in row.values.items() if name not in own}
        votes.append(Vote(row.one_of("task", TASKS), human, judges))
    return votes


def right(verdict: str | None, human: str) -> bool:
    """Whether a verdict is what people voted.

    >>> right(EITHER, BOTH_BAD), right(LEFT, BOTH_BAD), right(None, LEFT)
    (True, False, False)
    """
    return verdict == human or (verdict == EITHER and human in {BOTH_GOOD, BOTH_BAD})


def cells(votes: Sequence[Vote]) -> Iterator[Reproduced]:
    """Accuracy in four classes, among pairs where both decided, and how often the first place wins."""
    judges = list(votes[0].judges) if votes else []
    for judge in judges:
        rounded = []
        for task in TASKS:
            pairs = [(vote.judges[judge], vote.human) for vote in votes if vote.task == task]
            if not pairs:
                continue
            hits = sum(right(verdict, human) for verdict, human in pairs)
            rounded.append(round(100 * hits / len(pairs), 2))
            yield share_cell(f"{task}/{judge}/accuracy", hits, len(pairs), "results table of the repository")
            yield from _sides(f"{task}/{judge}", pairs)
        name = f"average/{judge}"
        mean = round(fmean(rounded), 6)
        yield Reproduced(name, mean, len(votes), paper=printed().get(name), source="results table of the repository")


def _sides(name: str, pairs: Sequence[tuple[str | None, str]]) -> Iterator[Reproduced]:
    """Only verdicts for a side; no cell where there is none."""
    sided = [(verdict, human) for verdict, human in pairs if verdict in _SIDES]
    both = [(verdict, human) for verdict, human in sided if human in _SIDES]
    if both:
        yield share_cell(f"{name}/acc_decided", sum(verdict == human for verdict, human in both), len(both))
    if sided:
        yield share_cell(f"{name}/first_position_share", sum(verdict == LEFT for verdict, _ in sided), len(sided))
