"""Verdicts that come with the benchmark: those released, and the sample reviewed by those who wrote its questions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fullbench.benchmarks.upme import pico_reproduction, prd_reproduction
from fullbench.benchmarks.upme.sample import IMAGES, SEED, contestants, sample
from fullbench.core.digests import digest
from fullbench.core.model import Prompt
from fullbench.core.record import Record
from fullbench.core.reproduction import Brought
from fullbench.core.response import Response
from fullbench.core.rubric import CORRECTNESS
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import InputError
from fullbench.files.release_rows import released_rows
from fullbench.judges.peer_review import review_protocol
from fullbench.judges.peer_review.review_protocol import BALLOT
from fullbench.judges.prompted import PromptedJudge


def bring(released: str, source: Path | None = None) -> Brought:
    """The verdicts of a release, or of the sample where no folder is given."""
    if source is None:
        return Brought(reviewed_sample())
    if released == "prd_reproduction":
        return Brought(Record(tuple(_prd(prd_reproduction.Release.read(source)))))
    if released == "pico_reproduction":
        return Brought(Record(tuple(_pico(source))))
    raise InputError("the authors of UPME released no reviews, only the tables of their paper", path=source)


def reviewed_sample() -> Record:
    """The sample's questions answered and reviewed by the court's contestants, and the truth about the answers."""
    from fullbench.synthetic.sample_items import sample as court
    from fullbench.synthetic.truth import PictureTruth

    items = sample()
    responses: list[Response] = []
    for model in contestants():
        asked = [Prompt(item.turns, tag=item.id) for item in items if item.tags["reviewer"] != model.name]
        responses += [Response.say(reply.prompt.tag, model.name, reply.text) for reply in model.answer(asked)]
    verdicts: list[Verdict] = []
    for model in contestants():
        judge = PromptedJudge(model, **review_protocol.wording())
        written = [item for item in items if item.tags["reviewer"] == model.name]
        heard = judge.hear(review_protocol.reviews(written, responses))
        verdicts += [verdict for verdict in heard if isinstance(verdict, Verdict)]
    known = [case for case in review_protocol.reviews(items, responses) if case.criterion == CORRECTNESS]
    verdicts += PictureTruth(court(SEED, IMAGES)).hear(known)
    shown = {(response.item, response.contestant): response for response in responses}
    return Record(tuple(verdicts), {item.id: item for item in items}, shown)


def _prd(release: prd_reproduction.Release) -> Iterator[Verdict]:
    for review in release.reviews:
        yield _verdict(review.reviewer, review.pair, review.outcome)
    for pair, votes in release.votes.items():
        for rater, outcome in enumerate(votes):
            yield _verdict(PEOPLE, pair, outcome, str(rater))


def _pico(source: Path) -> Iterator[Verdict]:
    """Both orders of every pair that one judge compared; a game without a winner was not read."""
    truth = pico_reproduction.true_order(source)
    for row in released_rows(source, "gpt35_reviews.csv"):
        names = row.one_of("model_1", truth), row.one_of("model_2", truth)
        for game, shown in (("g1_winner", names), ("g2_winner", names[::-1])):
            winner = row.one_of(game, pico_reproduction.GAMES)
            outcome = {"model_1": 1.0, "model_2": 0.0, "tie": 0.5}.get(winner)
            first = outcome if outcome is None or shown == names else 1 - outcome
            yield _verdict(row.text("judge"), (row.whole("question_id"), *shown), first)


def _verdict(judge: str, pair: prd_reproduction.Pair, outcome: float | None, rater: str = "") -> Verdict:
    question, first, second = pair
    item, names = str(question), (first, second)
    case = digest(["label", item, list(names), BALLOT.spec, "overall"])
    if outcome is None:
        return Verdict(case, judge, item, names, BALLOT.spec, rater=rater, fault="unreadable")
    return Verdict(case, judge, item, names, BALLOT.spec, rater=rater, marks=(outcome, 1 - outcome))
