"""Released verdicts as a record, so that leaderboards, cards and agreement work on them as on one's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fullbench.benchmarks.pairwise_releases import alpaca_eval, pandalm, vicuna_oa, wildvision_bench
from fullbench.core.digests import digest
from fullbench.core.record import Record
from fullbench.core.verdict import PEOPLE, Fault, Verdict
from fullbench.files.release_rows import released_rows

CHOICE, SOFT = "choice+tie", "real:0-1"
Ruling = tuple[float, float] | Fault
_WON: dict[float, Ruling] = {1.0: (1.0, 0.0), 0.0: (0.0, 1.0), 0.5: (0.5, 0.5)}


def _verdict(
    judge: str,
    item: str,
    names: tuple[str, str],
    ruling: Ruling,
    *,
    trial: int = 0,
    rater: str = "",
    ballot: str = CHOICE,
) -> Verdict:
    case = digest(["released", item, list(names), ballot])
    marks, fault = (None, ruling) if isinstance(ruling, str) else (ruling, None)
    return Verdict(case, judge, item, names, ballot, trial=trial, marks=marks, fault=fault, rater=rater)


def vicuna_oa_battles(folder: Path) -> Record:
    """GPT-4 in both orders on both sets of questions, and three people on one of them."""

    def made() -> Iterator[Verdict]:
        for file in (*vicuna_oa.FILES, vicuna_oa.VOTES):
            judge = PEOPLE if file == vicuna_oa.VOTES else "gpt-4-0314"
            voters: dict[vicuna_oa.Place, int] = {}
            for battle in vicuna_oa.battles(folder, file):
                trial = voters[battle.place] = voters.get(battle.place, -1) + 1
                ruling = "unreadable" if battle.score == vicuna_oa.UNPARSED else _WON[vicuna_oa.OUTCOMES[battle.score]]
                item = f"{file.partition('_')[0]}-{battle.question}"
                sides = (battle.first, battle.second)
                if judge == PEOPLE:
                    yield _verdict(judge, item, sides, ruling, rater=str(trial))
                else:
                    yield _verdict(judge, item, sides, ruling, trial=trial)

    return Record(tuple(made()))


def pandalm_votes(folder: Path) -> Record:
    """Three people and two judges on each pair."""
    label: dict[int, Ruling] = {0: (0.5, 0.5), 1: (1.0, 0.0), 2: (0.0, 1.0), pandalm.GARBAGE: "unreadable"}
    votes = pandalm.Votes.read(folder)
    verdicts = []
    for place, row in enumerate(released_rows(folder, "votes.csv")):
        first, _, second = row.text("pair").partition("_")
        if not second:
            raise row.error("'pair' must name two models with '_' between them")
        item = row.text("idx")
        for voter in pandalm.PEOPLE:
            verdicts.append(_verdict(PEOPLE, item, (first, second), label[votes.labels[voter][place]], rater=voter))
        verdicts += [
            _verdict(judge, item, (first, second), label[votes.labels[judge][place]]) for judge in pandalm.JUDGES
        ]
    return Record(tuple(verdicts))


def wildvision_bench_verdicts(folder: Path) -> Record:
    """GPT-4o on every contestant against the baseline; a strong preference is reduced to the winner."""
    wildvision_bench.Release.read(folder)
    verdicts = []
    for row in released_rows(folder, "verdicts.csv"):
        names, score = (row.text("model_a"), row.text("model_b")), row.text("score")
        if names[0] != names[1]:
            reward = wildvision_bench.REWARDS[score]
            outcome = 0.5 if reward == 0 else float(reward < 0)
            ruling: Ruling = "unreadable" if score == wildvision_bench.INVALID else _WON[outcome]
            verdicts.append(_verdict("gpt-4o", row.text("question"), names, ruling))
    return Record(tuple(verdicts))


def alpaca_eval_preferences(folder: Path) -> Record:
    """Four judges on every model against a baseline; preferences between the two are soft marks."""
    alpaca_eval.read(folder)
    verdicts = []
    for row in released_rows(folder, "annotations.csv"):
        if row.text("model") != row.text("baseline"):
            names = row.two("baseline", "model")
            preference = row.values.get("preference")
            share = (float(preference) or alpaca_eval.DRAW) - 1 if preference else None
            ruling: Ruling = "unreadable" if share is None else (1 - share, share)
            judge = row.text("annotator")
            verdicts.append(_verdict(judge, row.text("instruction"), names, ruling, ballot=SOFT))
    return Record(tuple(verdicts))
