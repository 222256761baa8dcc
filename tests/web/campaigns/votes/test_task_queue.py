"""Leases and votes: nobody is given what another holds, nothing counts twice, nothing is lost."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from sqlalchemy import select

from fullbench.errors import InputError
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaign_tables import slots, tasks, votes
from fullbench.web.campaigns.votes import task_queue, vote_storage
from fullbench.web.campaigns.votes.progress_annotator_agreement_and_joined_votes import task_items
from fullbench.web.campaigns.votes.task_queue import AnnotatorContext, Lease, LeaseGone, NoTask
from fullbench.web.campaigns.votes.vote_storage import VoteConflict
from fullbench.web.database import write_transaction
from tests.support.campaign_tasks import keep_apart
from tests.web.campaigns.conftest import study_of

NOW = 1000.0


def take(engine, study, person, now=NOW, holding=()):
    with write_transaction(engine) as connection:
        return task_queue.take_next_task(
            AnnotatorContext(connection, campaigns.get_campaign(connection, study.id), person, now), holding
        )


def say(engine, study, person, lease, place, *, key=None, replaces=0, now=NOW):
    """Vote for the response at `place` of the task, wherever this person saw it; None is a tie."""
    best = "tie" if place is None else str(lease.display_order.index(place))
    with write_transaction(engine) as connection:
        desk = AnnotatorContext(connection, campaigns.get_campaign(connection, study.id), person, now)
        return vote_storage.store_vote(
            desk, lease.token, key=key or f"{lease.token}-{replaces}", fields={"best": best},
            replaces=replaces,
        )  # fmt: skip


def work(engine, study, person, place=0, most=1000):
    """Vote the same on all there is."""
    done = []
    while len(done) < most and isinstance(lease := take(engine, study, person), Lease):
        say(engine, study, person, lease, place)
        done.append(lease.content.item.id)
    return done


def counted(engine):
    with write_transaction(engine) as connection:
        query = select(votes.c.task, votes.c.person, votes.c.answer).join(
            slots, (slots.c.id == votes.c.slot) & (slots.c.revision == votes.c.revision)
        )
        return connection.execute(query).all()


def test_everybody_votes_once_on_each_task_until_all_have_their_votes(engine):
    study = study_of(engine, 5, votes=2)
    assert sorted(work(engine, study, "ann")) == [f"item-{n}" for n in range(5)]
    assert len(work(engine, study, "bob")) == 5
    assert work(engine, study, "eve") == []
    assert take(engine, study, "eve") == NoTask("done")
    assert set(Counter(row.task for row in counted(engine)).values()) == {2}
    with write_transaction(engine) as connection:
        assert sorted(task_items(connection, study).values()) == [f"item-{n}" for n in range(5)]


def test_who_has_voted_on_all_they_may_is_done_and_does_not_wait_for_others(engine):
    """Votes of others are still wanted on every task, and one is in somebody's hands."""
    study = study_of(engine, 3, votes=2)
    assert isinstance(take(engine, study, "bob"), Lease)
    assert len(work(engine, study, "ann")) == 3
    assert take(engine, study, "ann") == NoTask("done")
    apart_study = study_of(engine, 2, name="separate", votes=2)
    with write_transaction(engine) as connection:
        keep_apart(connection, apart_study, [("item-0", "item-1")])
    assert len(work(engine, apart_study, "ann")) == 1
    assert take(engine, apart_study, "ann") == NoTask("done")
    with write_transaction(engine) as connection:
        assert (
            task_queue.count_waiting_tasks(connection, campaigns.get_campaign(connection, apart_study.id), "ann") == 0
        )
        assert (
            task_queue.count_waiting_tasks(connection, campaigns.get_campaign(connection, apart_study.id), "bob") == 2
        )


def test_a_reload_gives_the_same_slot_and_looking_ahead_another(engine):
    study = study_of(engine, 3)
    first = take(engine, study, "ann")
    assert take(engine, study, "ann").token == first.token
    ahead = take(engine, study, "ann", holding=[first.token])
    assert ahead.task != first.task
    assert take(engine, study, "bob").task not in {first.task, ahead.task}
    assert take(engine, study, "eve") == NoTask("wait")


def test_nobody_hoards(engine):
    study = study_of(engine, 20)
    held = []
    for _ in range(10):
        held.append(take(engine, study, "ann", holding=[lease.token for lease in held]))
    assert len({lease.token for lease in held}) == task_queue.MOST_HELD_SLOTS


def test_an_abandoned_slot_returns_and_a_vote_that_comes_late_is_kept_beside_the_other(engine):
    study = study_of(engine, 1, lease_seconds=60)
    late = take(engine, study, "ann")
    assert take(engine, study, "bob", NOW + 59) == NoTask("wait")
    taken = take(engine, study, "bob", NOW + 61)
    assert taken.task == late.task
    assert say(engine, study, "ann", late, 0, now=NOW + 62, key="late").revision == 1
    assert say(engine, study, "ann", late, 0, now=NOW + 63, key="late").again is True
    assert say(engine, study, "bob", taken, 0, now=NOW + 64).revision == 1
    assert [row.person for row in counted(engine)] == ["ann", "bob"]
    with write_transaction(engine) as connection:
        assert connection.execute(select(tasks.c.voted, tasks.c.wanted)).one() == (2, 2)


def test_nobody_sees_the_draft_of_who_held_the_slot_before(engine):
    study = study_of(engine, 1, lease_seconds=60)
    late = take(engine, study, "ann")
    with write_transaction(engine) as connection:
        vote_storage.store_draft(AnnotatorContext(connection, study, "ann", NOW), late.token, {"reason": "mine alone"})
    taken = take(engine, study, "bob", NOW + 500)
    assert (taken.task, taken.draft) == (late.task, None)


def test_a_late_vote_counts_while_nobody_else_took_the_slot(engine):
    study = study_of(engine, 1, lease_seconds=60)
    lease = take(engine, study, "ann")
    assert say(engine, study, "ann", lease, 0, now=NOW + 5000).revision == 1


def test_a_foreign_lease_is_refused(engine):
    study = study_of(engine, 1)
    lease = take(engine, study, "ann")
    take(engine, study, "bob")
    with pytest.raises(LeaseGone):
        say(engine, study, "bob", lease, 0)
    with write_transaction(engine) as connection, pytest.raises(LeaseGone):
        task_queue.find_held_lease(AnnotatorContext(connection, study, "bob", NOW), lease.token)
    with write_transaction(engine) as connection, pytest.raises(LeaseGone):
        vote_storage.store_draft(AnnotatorContext(connection, study, "bob", NOW), lease.token, {"best": "0"})
    assert counted(engine) == []


def test_a_vote_sent_twice_counts_once_and_one_from_a_second_tab_is_a_revision(engine):
    study = study_of(engine, 2)
    lease = take(engine, study, "ann")
    assert say(engine, study, "ann", lease, 0, key="k").again is False
    assert say(engine, study, "ann", lease, 0, key="k").again is True
    assert say(engine, study, "ann", lease, 1, key="other").revision == 2
    with pytest.raises(VoteConflict, match="no revision 7"):
        say(engine, study, "ann", lease, 1, key="from nowhere", replaces=7)
    other = take(engine, study, "ann")
    with pytest.raises(VoteConflict, match="key"):
        say(engine, study, "ann", other, 1, key="k")
    assert [row.answer["best"] for row in counted(engine)] == [1]


def test_a_change_is_a_revision_and_all_are_kept(engine):
    study = study_of(engine, 1)
    lease = take(engine, study, "ann")
    say(engine, study, "ann", lease, 0)
    with write_transaction(engine) as connection:
        back = task_queue.find_held_lease(AnnotatorContext(connection, study, "ann", NOW), lease.token)
    assert (back.revision, back.answer["best"], back.display_order) == (1, 0, lease.display_order)
    assert say(engine, study, "ann", back, 1, replaces=1).revision == 2
    assert say(engine, study, "ann", back, None, replaces=1, key="from the page before the change").revision == 3
    assert [row.answer["best"] for row in counted(engine)] == [None]
    with write_transaction(engine) as connection:
        assert connection.execute(select(votes.c.revision).order_by(votes.c.id)).scalars().all() == [1, 2, 3]


@pytest.mark.parametrize(
    ("said", "rule", "wanted"),
    [
        ([0, 0, 0], "all", 3),
        ([0, 1, 0], "majority", 3),
        ([0, 1, 0, 0], "all", 4),
        ([0, 1, None, 0, 0], "majority", 5),
        ([0, 1, None, 0, 1], "majority", 5),
    ],
)
def test_disagreement_brings_others_up_to_the_most(engine, said, rule, wanted):
    study = study_of(engine, 1, votes=3, most=4 if rule == "all" else 5, settled_by=rule)
    for number, place in enumerate(said):
        say(engine, study, f"person-{number}", take(engine, study, f"person-{number}"), place)
    assert take(engine, study, "one more") == NoTask("done")
    with write_transaction(engine) as connection:
        row = connection.execute(select(tasks.c.voted, tasks.c.wanted)).one()
    assert tuple(row) == (wanted, wanted)


def test_who_cannot_judge_is_replaced(engine):
    study = study_of(engine, 1)
    lease = take(engine, study, "ann")
    with write_transaction(engine) as connection:
        vote_storage.store_vote(
            AnnotatorContext(connection, study, "ann", NOW), lease.token, key="k", fields={"abstained": "yes"}
        )
    assert len(work(engine, study, "bob")) == 1


def test_the_qualification_round_comes_first_and_lets_in_who_passes(engine):
    study = study_of(engine, 2, votes=2, qualify=3, pass_share=0.6)
    first = [take(engine, study, "ann").content.item.id]
    assert first[0].startswith("test-")
    done = work(engine, study, "ann", 0)
    assert [name.split("-")[0] for name in done] == ["test"] * 3 + ["item"] * 2
    assert len(work(engine, study, "bob", 1)) == 3
    assert take(engine, study, "bob") == NoTask("failed")


def test_gold_is_sprinkled_in_once_a_person_and_only_they_can_fill_it(engine):
    study = study_of(engine, 40, votes=2, gold=5, gold_every=3, lease_seconds=60)
    for person in ("ann", "bob"):
        done = work(engine, study, person)
        gold = [name for name in done if name.startswith("gold")]
        assert len(gold) == len(set(gold)) == 5
        assert len(done) == 45
    with write_transaction(engine) as connection:
        right = connection.execute(select(votes.c.right).where(votes.c.right.is_not(None))).scalars().all()
    assert right == [True] * 10


def test_tasks_kept_apart_never_meet_the_same_person(engine):
    study = study_of(engine, 4)
    with write_transaction(engine) as connection:
        assert keep_apart(connection, study, [("item-0", "item-1"), ("item-1", "item-2")]) == 2
        with pytest.raises(InputError, match="item-9"):
            keep_apart(connection, study, [("item-0", "item-9")])
    done = {person: set(work(engine, study, person)) for person in ("ann", "bob")}
    assert set.union(*done.values()) == {f"item-{n}" for n in range(4)}
    for mine in done.values():
        assert not mine >= {"item-0", "item-1"}
        assert not mine >= {"item-1", "item-2"}


def test_a_draft_is_kept_until_the_vote_and_belongs_to_its_slot(engine):
    study = study_of(engine, 1)
    lease = take(engine, study, "ann")
    for text in ("half a", "half a 句子"):
        with write_transaction(engine) as connection:
            vote_storage.store_draft(AnnotatorContext(connection, study, "ann", NOW), lease.token, {"reason": text})
    assert take(engine, study, "ann").draft == {"reason": "half a 句子"}
    say(engine, study, "ann", lease, 0)
    with write_transaction(engine) as connection:
        assert task_queue.find_held_lease(AnnotatorContext(connection, study, "ann", NOW), lease.token).draft is None


def test_a_closed_study_takes_no_votes(engine):
    study = study_of(engine, 2)
    lease = take(engine, study, "ann")
    with write_transaction(engine) as connection:
        campaigns.set_state(connection, study.id, "closed")
    assert take(engine, study, "bob") == NoTask("closed")
    with pytest.raises(VoteConflict, match="closed"):
        say(engine, study, "ann", lease, 0)


def test_many_at_once(engine):
    """Twelve people in threads of their own, all tasks open to all: every task gets its votes, nobody votes twice."""
    study = study_of(engine, 20, votes=3, most=5, gold=3, gold_every=4)
    wrong = []

    def person(name):
        try:
            for turn in range(40):
                lease = take(engine, study, name)
                if isinstance(lease, NoTask):
                    if lease.why == "done":
                        break
                    continue
                for _ in range(2):
                    say(engine, study, name, lease, (turn + int(name[-1])) % 2, key=lease.token)
        except BaseException as error:
            wrong.append(error)
            raise

    people = [threading.Thread(target=person, args=(f"person-{n}",)) for n in range(12)]
    for one in people:
        one.start()
    for one in people:
        one.join()
    assert wrong == []
    rows = counted(engine)
    assert len({(row.task, row.person) for row in rows}) == len(rows)
    with write_transaction(engine) as connection:
        work_tasks = connection.execute(select(tasks).where(tasks.c.role == "work")).all()
    times = Counter(row.task for row in rows)
    for task in work_tasks:
        assert 3 <= times[task.id] == task.voted == task.wanted <= 5
