"""Released pairwise verdicts as records, for leaderboards, cards and agreement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fullbench.benchmarks.pairwise_releases import (
    alpaca_eval_reproduction,
    pandalm_reproduction,
    qlora_match_reproduction,
    wildvision_bench_reproduction,
)
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.verdict import PEOPLE, Fault, Verdict
from fullbench.core.verdict_record import Record
from fullbench.files.exchange.alpaca_eval import import_alpaca_eval
from fullbench.files.exchange.arena_hard_and_wildvision_bench import import_judged_games
from fullbench.files.release_rows import released_rows

CHOICE, SOFT = "choice+tie", "real:0-1"
MarksOrFault = tuple[float, float] | Fault
_MARKS_BY_OUTCOME: dict[float, MarksOrFault] = {1.0: (1.0, 0.0), 0.0: (0.0, 1.0), 0.5: (0.5, 0.5)}


def _released_verdict(
    judge: str,
    item: str,
    names: tuple[str, str],
    marks_or_fault: MarksOrFault,
    *,
    trial: int = 0,
    rater: str = "",
    ballot: str = CHOICE,
) -> Verdict:
    case = digest(["released", item, list(names), ballot])
    marks, fault = (None, marks_or_fault) if isinstance(marks_or_fault, str) else (marks_or_fault, None)
    return Verdict(case, judge, item, names, ballot, trial=trial, marks=marks, fault=fault, rater=rater)


def vicuna_oa_battles(folder: Path) -> Record:
    """Return verdicts by GPT-4 in both orders on both question sets, and by three people on one of them."""

    def build_verdicts() -> Iterator[Verdict]:
        for file in (*qlora_match_reproduction.FILES, qlora_match_reproduction.VOTES):
            judge = PEOPLE if file == qlora_match_reproduction.VOTES else "gpt-4-0314"
            voters: dict[qlora_match_reproduction.MatchKey, int] = {}
            for match in qlora_match_reproduction.read_matches(folder, file):
                trial = voters[match.key] = voters.get(match.key, -1) + 1
                marks_or_fault = (
                    "unreadable"
                    if match.score == qlora_match_reproduction.UNPARSED_SCORE
                    else _MARKS_BY_OUTCOME[qlora_match_reproduction.OUTCOMES[match.score]]
                )
                item = f"{file.partition('_')[0]}-{match.question}"
                sides = (match.first, match.second)
                if judge == PEOPLE:
                    yield _released_verdict(judge, item, sides, marks_or_fault, rater=str(trial))
                else:
                    yield _released_verdict(judge, item, sides, marks_or_fault, trial=trial)

    return Record(tuple(build_verdicts()))


def pandalm_votes(folder: Path) -> Record:
    """Return the verdicts of three people and two judges on each pair."""
    label: dict[int, MarksOrFault] = {
        0: (0.5, 0.5),
        1: (1.0, 0.0),
        2: (0.0, 1.0),
        pandalm_reproduction.GARBAGE: "unreadable",
    }
    votes = pandalm_reproduction.Votes.read(folder)
    verdicts = []
    for place, row in enumerate(released_rows(folder, "votes.csv")):
        first, _, second = row.text("pair").partition("_")
        if not second:
            raise row.error("'pair' must name two models with '_' between them")
        item = row.text("idx")
        for voter in pandalm_reproduction.PEOPLE:
            verdicts.append(
                _released_verdict(PEOPLE, item, (first, second), label[votes.labels[voter][place]], rater=voter)
            )
        verdicts += [
            _released_verdict(judge, item, (first, second), label[votes.labels[judge][place]])
            for judge in pandalm_reproduction.JUDGES
        ]
    return Record(tuple(verdicts))


def wildvision_bench_verdicts(folder: Path) -> Record:
    """Return GPT-4o's verdicts on every contestant against the baseline.

    From a clone they are graded, with texts; in our condensed table a strong preference counts as a win.
    """
    if wildvision_bench_reproduction.clone_folder(folder) is not None:
        return import_judged_games(folder, {}).record
    # Validates the file: duplicates and several baselines are errors.
    wildvision_bench_reproduction.Release.read(folder)
    verdicts = []
    for row in released_rows(folder, "verdicts.csv"):
        names, score = (row.text("model_a"), row.text("model_b")), row.text("score")
        if names[0] != names[1]:
            reward = wildvision_bench_reproduction.REWARDS[score]
            outcome = 0.5 if reward == 0 else float(reward < 0)
            marks_or_fault: MarksOrFault = (
                "unreadable" if score == wildvision_bench_reproduction.INVALID else _MARKS_BY_OUTCOME[outcome]
            )
            verdicts.append(_released_verdict("gpt-4o", row.text("question"), names, marks_or_fault))
    return Record(tuple(verdicts))


def alpaca_eval_preferences(folder: Path) -> Record:
    """Return judges' verdicts on every model against a baseline, with preferences as soft marks."""
    if (results := alpaca_eval_reproduction.clone_results(folder)) is not None:
        return import_alpaca_eval(results, {}).record
    # Validates the file: duplicates and preferences out of range are errors.
    alpaca_eval_reproduction.read_runs(folder)
    verdicts = []
    for row in released_rows(folder, "annotations.csv"):
        if row.text("model") != row.text("baseline"):
            names = row.contestant_pair("baseline", "model")
            preference = row.values.get("preference")
            share = (float(preference) or alpaca_eval_reproduction.DRAW) - 1 if preference else None
            marks_or_fault: MarksOrFault = "unreadable" if share is None else (1 - share, share)
            judge = row.text("annotator")
            verdicts.append(_released_verdict(judge, row.text("instruction"), names, marks_or_fault, ballot=SOFT))
    return Record(tuple(verdicts))
