"""A peer review through the engine and the ledger: who asks, who answers, who reviews, and nothing twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import pytest

from fullbench.core.case import Case
from fullbench.core.item import INSTRUCTED_TAG, Item, Turn
from fullbench.core.model import Reply
from fullbench.core.response import Response
from fullbench.core.rubric import CORRECTNESS, VISUAL
from fullbench.errors import InputError
from fullbench.files.items_from_picture_folder import Pictures
from fullbench.judges.peer_review.review_items_and_cases import BALLOT, CRITERIA
from fullbench.judges.prompted_judge import PromptedJudge
from fullbench.ledger.ledger import Ledger
from fullbench.models.local.offline_models_for_tests import OfflineModel
from fullbench.studies.exchange.sent_prompts_rebuilt_from_ledger import sent_prompts
from fullbench.studies.judge_contestant_and_benchmark_specs import correlation_from_spec
from fullbench.studies.peer_review.peer_review_steps import PeerReview
from fullbench.synthetic.item_generator import build_items
from fullbench.synthetic.pixel_reading_contestants import build_contestants
from fullbench.synthetic.truth_judge import PictureTruth

KNOWN = build_items(7, 6)
IMAGES = {one.item.id: one.item.pictures[0] for one in KNOWN}


def some(count):
    return dict(list(IMAGES.items())[:count])


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    reviewing = PeerReview(
        build_contestants(), IMAGES, correlation=correlation_from_spec("colours"), truth=PictureTruth(KNOWN)
    )
    with Ledger(tmp_path_factory.mktemp("peers") / "a.ledger") as ledger:
        first = reviewing.execute(ledger, quiet=True)
        again = reviewing.execute(ledger, quiet=True)
        responses = list(ledger.responses())
    return reviewing, first, again, responses


def test_nobody_answers_or_reviews_itself(done):
    reviewing, first, _, responses = done
    for response in responses:
        assert not response.item.endswith(f"| {response.contestant}")
    for verdict in first.record:
        assert first.record.tag(verdict, "reviewer") not in verdict.contestants
    owner = {reviewing.judge(model).name: model.name for model in reviewing.contestants}
    reviews = [verdict for verdict in first.record if verdict.judge in owner]
    assert all(first.record.tag(verdict, "reviewer") == owner[verdict.judge] for verdict in reviews)
    assert Counter(verdict.criterion for verdict in reviews) == {CORRECTNESS: 6 * 6 * 10, VISUAL: 6 * 6 * 10}


def test_the_calls_are_those_of_the_design(done):
    reviewing, first, again, responses = done
    planned = {row[0]: row[1:] for row in reviewing.plan().rows}
    assert planned["synthetic/keen"] == [6, 30, 120]
    assert len(responses) == 6 * 6 + 6 * 30
    assert sum(tally.started_count for tally in first.job_counts) == 36 + 180 + 720 + 180 + 360
    assert sum(tally.started_count for tally in again.job_counts) == 0


def test_the_second_time_gives_the_same_tables(done):
    _, first, again, _ = done
    assert [table for table in again.tables if table.name != "cost a picture"] == [
        table for table in first.tables if table.name != "cost a picture"
    ]


def test_the_ranking_is_near_the_truth_and_says_what_it_rests_on(done):
    _, first, _, _ = done
    by_name = {table.name: table for table in first.tables}
    assert {"ranking", "reviewers", "convergence", "nearness", "ablation", "gamma", "sizes", "biases"} <= set(by_name)
    near = dict(zip(by_name["nearness"].column("method"), by_name["nearness"].column("pearson"), strict=True))
    assert near["UPME"].value > 0.9
    assert near["UPME"].value > near["uniform"].value
    assert by_name["ranking"].column("contestant")[-1] == "synthetic/blind"
    assert any("correlation: unknown for" in note for note in by_name["ranking"].notes)
    weights = dict(zip(by_name["reviewers"].column("reviewer"), by_name["reviewers"].column("weight"), strict=True))
    assert min(weights, key=weights.get) == "synthetic/blind"


def test_a_part_of_the_design_asks_only_for_what_it_needs(tmp_path):
    reviewing = PeerReview(build_contestants(), IMAGES, reviews=60, seed=3)
    with Ledger(tmp_path / "a.ledger") as ledger:
        found = reviewing.execute(ledger, quiet=True)
        answers = [response for response in ledger.responses() if " | " in response.item]
    needed = {(slot.image, slot.reviewer, name) for slot in reviewing.slots for name in (slot.first, slot.second)}
    assert len(answers) == len(needed)
    assert len(found.record) == 2 * 60
    met = Counter((found.record.tag(verdict, "reviewer"), *sorted(verdict.contestants)) for verdict in found.record)
    assert set(met.values()) == {2}


def silent(prompt):
    return ""


def test_one_who_never_says_anything_is_named_and_the_others_are_ranked(tmp_path):
    models = [*build_contestants()[:4], OfflineModel("silent", silent)]
    with Ledger(tmp_path / "a.ledger") as ledger:
        found = PeerReview(models, some(3)).execute(ledger, quiet=True)
    ranking = next(table for table in found.tables if table.name == "ranking")
    assert "silent" in ranking.column("contestant")
    assert all(found.record.tag(verdict, "reviewer") != "silent" for verdict in found.record)


class Failing:
    """A model whose every call fails."""

    name, settings, price = "failing", {}, (0.0, 0.0)

    def answer(self, prompts):
        for prompt in prompts:
            yield Reply(prompt, error="no answer")


def test_one_whose_calls_all_fail_is_left_out_and_counted(tmp_path):
    with Ledger(tmp_path / "a.ledger") as ledger:
        found = PeerReview([*build_contestants()[:3], Failing()], some(3)).execute(ledger, quiet=True)
    ranking = next(table for table in found.tables if table.name == "ranking")
    assert set(ranking.column("contestant")) == {"synthetic/keen", "synthetic/wordy", "synthetic/hasty"}
    assert sum(tally.failure_count for tally in found.job_counts if tally.name == "failing") == 3 + 9


def test_too_few_to_review_each_other():
    with pytest.raises(InputError, match="at least three contestants, one to ask and two to answer; found 2"):
        PeerReview(build_contestants()[:2], some(1))
    with pytest.raises(InputError, match="two of the contestants are the same: synthetic/keen"):
        PeerReview([build_contestants()[0]] * 3, some(1))


def test_a_pool_of_one_family():
    kin = {model.name: "synthetic" for model in build_contestants()}
    with pytest.raises(InputError, match="no reviews are possible"):
        PeerReview(build_contestants(), some(1), families=kin)
    kin["synthetic/blind"] = kin["synthetic/blurred"] = "other"
    slots = PeerReview(build_contestants(), some(1), families=kin).slots
    assert all(kin[slot.reviewer] not in {kin[slot.first], kin[slot.second]} for slot in slots)


def test_nothing_to_review_says_what_was_found(tmp_path):
    models = [OfflineModel(name, silent) for name in "abc"]
    with Ledger(tmp_path / "a.ledger") as ledger, pytest.raises(InputError, match="0 questions were written"):
        PeerReview(models, some(1)).execute(ledger, quiet=True)


def test_unreadable_pictures_are_named_and_the_rest_is_kept(tmp_path):
    for name, picture in some(2).items():
        (tmp_path / f"{name}.png").write_bytes(picture.data())
    (tmp_path / "text.png").write_text("no picture")
    whole = next(iter(IMAGES.values())).data()
    (tmp_path / "cut.png").write_bytes(whole[:900])
    (tmp_path / "holed.png").write_bytes(whole[:900] + whole[-12:])
    found = Pictures.read(tmp_path)
    assert len(found.images) == 2
    assert len(found.unreadable) == 3
    assert any("not a picture we know" in line for line in found.unreadable)
    assert any("cut.png" in line and "is cut off" in line for line in found.unreadable)
    assert any("holed.png" in line and "cannot be decoded" in line for line in found.unreadable)
    with pytest.raises(InputError, match="not a folder"):
        Pictures.read(tmp_path / "nowhere")
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="contains no picture"):
        Pictures.read(tmp_path / "none")


def command(folder, *more):
    return [str(Path(sys.executable).parent / "fullbench"), "peer-review", "--limit", "3", "--quiet", "--ledger",
            str(folder / "a.ledger"), *more]  # fmt: skip


def rulings(ledger: Path) -> int:
    """How many verdicts are in a ledger that somebody else writes."""
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as reader:
        return int(reader.execute("SELECT count(*) FROM verdicts").fetchone()[0])
    return 0


@pytest.mark.slow  # tests/journeys/test_kinds_of_studies.py kills every kind of study, this one too
def test_killed_half_way_the_same_command_goes_on(tmp_path: Path):
    running = subprocess.Popen(command(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while running.poll() is None and not rulings(tmp_path / "a.ledger"):
        time.sleep(0.02)
    os.kill(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL, "it was still reviewing"
    due = 3 * 6 * 10 * 2
    assert 0 < rulings(tmp_path / "a.ledger") < due
    after = subprocess.run(command(tmp_path), capture_output=True, text=True)
    assert after.returncode == 0, after.stderr
    whole = subprocess.run([*command(tmp_path / "b")], capture_output=True, text=True)
    strip = lambda text: text.split("Cost of a picture")[0]  # noqa: E731
    assert strip(after.stdout) == strip(whole.stdout)


def test_what_a_reviewer_was_sent_is_shown_again_without_the_instruction_to_contestants():
    picture = KNOWN[0].item.pictures[0]
    turns = (Turn("system", ("Answer step by step.",)), Turn("user", (picture, "What is it?")))
    now = Item("q", turns, tags={INSTRUCTED_TAG: "yes"})
    answers = tuple(Response.say("q", name, f"{name} says so") for name in ("a", "b"))
    judge = PromptedJudge(OfflineModel("judge", lambda _: "[[A]]"), criteria=CRITERIA, ends=False)
    case = Case(now, answers, BALLOT, CORRECTNESS)
    (verdict,) = judge.judge([case])
    (turns_sent,) = sent_prompts(judge.settings, case, verdict).values()
    words = "\n".join(turn.text for turn in turns_sent)
    assert "a says so" in words
    assert "Answer step by step." not in words


class Held:
    """A contestant whose server can hold it to a form."""

    settings, price, takes_schemas = {}, None, True

    def __init__(self, name):
        self.name = name

    def answer(self, prompts):
        return iter(())


def test_only_reviewers_that_can_be_held_to_a_form_are_and_are_named_so():
    free, held = build_contestants()[0], Held("held")
    reviewing = PeerReview([*build_contestants()[:2], held], IMAGES, constrained=True)
    assert "+constrained#" in reviewing.judge(held).name
    assert "constrained" not in reviewing.judge(free).name
    assert "constrained" not in PeerReview([*build_contestants()[:2], held], IMAGES).judge(held).name
    with pytest.raises(InputError, match="no contestant supports a forced output format"):
        PeerReview(build_contestants(), IMAGES, constrained=True)
