"""What a study leaves out of what it was made of: counted when it is made, said wherever the study is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from fullbench.core.item import Item
from fullbench.core.note import Note
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.studies.run.study_inputs import is_unverified
from fullbench.web.campaigns.campaigns import Study

OPTION = "omitted"


@dataclass(frozen=True)
class Omitted:
    """Counts: `unverified` of `items`, requests for questions, pairs that no order by gain holds, people's own votes
    where judges' rulings are reviewed, verdicts on other criteria than the one asked for, verdicts whose text is `bare`
    numbers, and tasks over a limit."""

    items: int = 0
    unverified: int = 0
    requests: int = 0
    pairs: int = 0
    over_limit: int = 0
    votes: int = 0
    other_criteria: int = 0
    bare: int = 0

    @property
    def option(self) -> dict[str, dict[str, int]]:
        """As a study's option."""
        return {OPTION: asdict(self)}

    def notes(self) -> list[Note]:
        """A sentence for each kind of thing that was left out."""
        said = (
            (
                self.unverified,
                Note(
                    "web.people.omitted.unverified",
                    "{n:,} of {items:,} items are marked as not verified, and nobody is asked about them; --unverified "
                    "(on the form: items that are not verified too) asks about all.",
                    n=self.unverified, items=self.items,
                ),
            ),
            (
                self.requests,
                Note(
                    "web.people.omitted.requests",
                    "{n:,} requests for questions were left out: what models wrote there is no answer.",
                    n=self.requests,
                ),
            ),
            (
                self.pairs,
                Note(
                    "web.people.omitted.pairs",
                    "{n:,} pairs were left out: no judge ruled on them, or people voted on them already.",
                    n=self.pairs,
                ),
            ),
            (
                self.votes,
                Note(
                    "web.people.omitted.votes",
                    "{n:,} votes of people with a reason were left out: judges' rulings are reviewed here; "
                    "--judge human asks about people's.",
                    n=self.votes,
                ),
            ),
            (
                self.other_criteria,
                Note(
                    "web.people.omitted.criteria",
                    "{n:,} verdicts on other criteria were left out.",
                    n=self.other_criteria,
                ),
            ),
            (
                self.bare,
                Note(
                    "web.people.omitted.bare",
                    "{n:,} verdicts whose text is numbers alone, as that of metrics, were left out; --judge NAME (on "
                    "the form: the judges) asks about them.",
                    n=self.bare,
                ),
            ),
            (
                self.over_limit,
                Note("web.people.omitted.limit", "{n:,} tasks over the limit were left out.", n=self.over_limit),
            ),
        )  # fmt: skip
        return [note for count, note in said if count]


def of_study(study: Study) -> Omitted:
    """What a study left out; nothing where it was made before this was counted."""
    counts: Mapping[str, Any] = study.rules.options.get(OPTION) or {}
    return Omitted(**{field.name: int(counts.get(field.name, 0)) for field in fields(Omitted)})


def judged(
    kind: str, items: Iterable[Item], answers: Iterable[Response], *, unverified: bool
) -> tuple[list[Item], list[Response], Omitted]:
    """The items that people are asked about, with the answers to them, and what was left out.

    Items that are marked as not verified are verified and written after, but judged only where `unverified` asks so.
    """
    every, every_answer = list(items), list(answers)
    if unverified or kind in {"verify", "write"}:
        return every, every_answer, Omitted(len(every))
    asked = [item for item in every if not is_unverified(item)]
    if every and not asked:
        raise InputError(
            Note(
                "web.wrong.no-item-is-verified",
                "all {n:,} items are marked as not verified, and people judge such items only where you ask for it: "
                "--unverified (on the form: items that are not verified too)",
                n=len(every),
            )
        )
    names = {item.id for item in asked}
    kept_answers = [answer for answer in every_answer if answer.item in names]
    return asked, kept_answers, Omitted(len(every), len(every) - len(asked))
