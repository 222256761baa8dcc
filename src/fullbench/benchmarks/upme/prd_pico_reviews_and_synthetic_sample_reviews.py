"""Verdicts supplied with UPME, PRD and PiCO: released reviews, and a sample reviewed by its question writers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fullbench.benchmarks.upme import pico_reproduction, prd_reproduction
from fullbench.benchmarks.upme.sample_pictures_and_questions import IMAGES, SEED, sample_contestants, sample_questions
from fullbench.core.benchmark import LoadedData
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.model import Prompt
from fullbench.core.response import Response
from fullbench.core.rubric import CORRECTNESS
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.release_rows import released_rows
from fullbench.judges.peer_review import review_items_and_cases
from fullbench.judges.peer_review.review_items_and_cases import BALLOT
from fullbench.judges.prompted_judge import PromptedJudge


def bring(release_name: str, source: Path | None = None) -> LoadedData:
    """Return the verdicts of a release, or of the sample if there is no folder."""
    if source is None:
        return LoadedData(reviewed_sample())
    if release_name == "prd_reproduction":
        return LoadedData(Record(tuple(_prd_verdicts(prd_reproduction.Release.read(source)))))
    if release_name == "pico_reproduction":
        return LoadedData(Record(tuple(_pico_verdicts(source))))
    raise InputError("the authors of UPME released no reviews, only the tables of their paper", path=source)


def reviewed_sample() -> Record:
    """Return the sample's questions, answered and reviewed by synthetic contestants, and the true correctness."""
    from fullbench.synthetic.item_generator import build_items as build_synthetic
    from fullbench.synthetic.truth_judge import PictureTruth

    items = sample_questions()
    responses: list[Response] = []
    for model in sample_contestants():
        prompts = [Prompt(item.turns, tag=item.id) for item in items if item.tags["reviewer"] != model.name]
        responses += [Response.say(reply.prompt.tag, model.name, reply.text) for reply in model.answer(prompts)]
    verdicts: list[Verdict] = []
    for model in sample_contestants():
        judge = PromptedJudge(model, **review_items_and_cases.review_judge_options())
        own_questions = [item for item in items if item.tags["reviewer"] == model.name]
        outcomes = judge.judge(review_items_and_cases.review_cases(own_questions, responses))
        verdicts += [verdict for verdict in outcomes if isinstance(verdict, Verdict)]
    correctness_cases = [
        case for case in review_items_and_cases.review_cases(items, responses) if case.criterion == CORRECTNESS
    ]
    verdicts += PictureTruth(build_synthetic(SEED, IMAGES)).judge(correctness_cases)
    responses_by_key = {(response.item, response.contestant): response for response in responses}
    return Record(tuple(verdicts), {item.id: item for item in items}, responses_by_key)


def _prd_verdicts(release: prd_reproduction.Release) -> Iterator[Verdict]:
    for review in release.reviews:
        yield _pair_verdict(review.reviewer, review.pair, review.outcome)
    for pair, votes in release.votes.items():
        for rater, outcome in enumerate(votes):
            yield _pair_verdict(PEOPLE, pair, outcome, str(rater))


def _pico_verdicts(source: Path) -> Iterator[Verdict]:
    truth = pico_reproduction.true_order(source)
    for row in released_rows(source, "gpt35_reviews.csv"):
        names = row.one_of("model_1", truth), row.one_of("model_2", truth)
        for game, shown_names in (("g1_winner", names), ("g2_winner", names[::-1])):
            winner = row.one_of(game, pico_reproduction.GAMES)
            outcome = {"model_1": 1.0, "model_2": 0.0, "tie": 0.5}.get(winner)
            first = outcome if outcome is None or shown_names == names else 1 - outcome
            yield _pair_verdict(row.text("judge"), (row.integer("question_id"), *shown_names), first)


def _pair_verdict(judge: str, pair: prd_reproduction.Pair, outcome: float | None, rater: str = "") -> Verdict:
    question, first, second = pair
    item, names = str(question), (first, second)
    case = digest(["label", item, list(names), BALLOT.spec, "overall"])
    if outcome is None:
        return Verdict(case, judge, item, names, BALLOT.spec, rater=rater, fault="unreadable")
    return Verdict(case, judge, item, names, BALLOT.spec, rater=rater, marks=(outcome, 1 - outcome))
