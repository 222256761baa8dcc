"""The steps of a batch: write, submit, look, collect. Each may be cut off anywhere and run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fullbench.core.judge import Judge
from fullbench.core.model import Model
from fullbench.errors import InputError
from fullbench.files.writers import replacing
from fullbench.ledger.contents_and_cost import Role
from fullbench.ledger.ledger import Ledger
from fullbench.models.wire.batch_lines import named
from fullbench.studies.batches.batch_client import Posting
from fullbench.studies.batches.batch_folders import OUTPUT, Folder, Shelf
from fullbench.studies.batches.models_from_batch_files import FiledJudge, FiledModel, filed_contestant, filed_judge
from fullbench.studies.batches.requests_and_replies import Count, Mailbox, Size
from fullbench.studies.batches.unmatched_replies import extras
from fullbench.studies.engines import Tally
from fullbench.studies.run.answer_items import answer
from fullbench.studies.run.declare_in_ledger import introduce
from fullbench.studies.run.judge_cases import hear
from fullbench.studies.run.study_plan import models_asked
from fullbench.studies.run.study_run import Conductor

UNWELL = frozenset({"failed", "expired", "cancelled"})
FIRST_WAIT = 5.0
LONGEST_WAIT = 300.0


@dataclass
class Pass:
    """What came of one pass over a study: new batches, what was met, who was left out, the tallies."""

    batches: list[Folder]
    count: Count
    left_out: list[str]
    notices: Sequence[str] = ()
    tallies: list[Tally] = field(default_factory=list)

    @property
    def settled(self) -> int:
        """Answers and verdicts that are new in the ledger."""
        return sum(tally.done for tally in self.tallies)

    @property
    def known(self) -> int:
        return sum(tally.known for tally in self.tallies)

    @property
    def failed(self) -> int:
        return sum(tally.failed for tally in self.tallies)


class Rounds:
    """A study that is asked by the file."""

    def __init__(self, conductor: Conductor, ledger: Ledger) -> None:
        self._conductor = conductor
        self._ledger = ledger
        self.shelf = Shelf(ledger.path)
        self._posting = Posting(self.shelf, self._models)
        self.notices: list[str] = []

    def write(self, *, rate: float, size: Size | None = None) -> Pass:
        """Write requests for all that is due and not on its way; replies that are there are read on the way."""
        with self._ledger.sole("batches"):
            return self._pass(Mailbox(self.shelf, rate, size or Size(), writing=True))

    def collect(self, brought: Sequence[Path] = ()) -> Pass:
        """Read what came back into the ledger: from the server for batches that ended, and from files that were
        `brought`. What was collected before adds nothing."""
        with self._ledger.sole("batches"):
            for path in brought:
                self._bring(path)
            for folder in self.shelf.folders():
                if folder.state.stage == "submitted":
                    self._posting.look(folder)
            return self._pass(Mailbox(self.shelf))

    def submit(self, again: bool = False) -> list[Folder]:
        """Send every batch that was written and not sent; those that are with the server now."""
        with self._ledger.sole("batches"):
            waiting = [folder for folder in self.shelf.folders() if folder.state.stage in {"written", "creating"}]
            return [self._posting.send(folder, again) for folder in waiting]

    def cancel(self) -> list[Folder]:
        """Ask no more of what is on its way: those that are with a server end in a while with what was answered by
        then, and those that were never sent are given up at once."""
        with self._ledger.sole("batches"):
            stopped = [self._posting.stop(folder) if folder.open else folder for folder in self.shelf.folders()]
            return [folder for folder in stopped if folder is not None]

    def look(self) -> list[Folder]:
        """How every batch stands, asked of the servers; what ended is fetched."""
        with self._ledger.sole("batches"):
            return [
                self._posting.look(folder) if folder.state.stage == "submitted" else folder
                for folder in self.shelf.folders()
            ]

    def wait(
        self, watch: Callable[[list[Folder]], bool], *, first: float = FIRST_WAIT, sleep: Callable[[float], None]
    ) -> list[Folder]:
        """Look until every batch that was sent has ended, less and less often; `watch` hears of each look, and says
        whether to go on."""
        wait = first
        while True:
            folders = self.look()
            if not any(folder.state.stage == "submitted" for folder in folders) or not watch(folders):
                return folders
            sleep(wait)
            wait = min(LONGEST_WAIT, wait * 1.5)

    # Within

    def _pass(self, mailbox: Mailbox) -> Pass:
        conductor, ledger = self._conductor, self._ledger
        done = Pass([], mailbox.count, [])
        with mailbox.opened():
            untold = [folder for folder in self.shelf.folders() if not folder.open and not folder.state.told]
            contestants = self._contestants(mailbox)
            if contestants:
                done.tallies += answer(contestants, conductor.items, ledger)
            if all(tally.in_flight == 0 and not tally.failed for tally in done.tallies):
                judges, done.left_out = self._judges(mailbox)
                responses = conductor.responses(ledger)
                done.tallies += hear(judges, lambda judge: conductor.docket(judge, responses), ledger)
            for folder in untold:
                self._settle(folder, done.count)
            ledger.flush()
        for folder in untold:
            folder.now(replace(folder.state, told=True))
        done.batches = mailbox.sealed
        done.notices, self.notices = self.notices, []
        return done

    def _settle(self, folder: Folder, count: Count) -> None:
        """Say how a batch ended where it did not end well, and bill the replies that led to nothing, once."""
        state = folder.state
        if state.status in UNWELL:
            why = f" ({state.note})" if state.note else ""
            self.notices.append(
                f"the batch {folder.path.name} is {state.status}{why}: {state.done:,} of its {state.requests:,} "
                "requests were answered, the others are due again"
            )
        items = {item.key: item for item in self._conductor.items}
        answering = {model.name for model in self._conductor.contestants}
        billed: dict[str, set[str]] = {}
        for extra in extras(folder, self._posting.model_of(folder)):
            failure = extra.failure
            if extra.kind == "unknown":
                count.unknown += 1
            else:
                count.second += 1
            if failure.judge not in billed:
                billed[failure.judge] = {known.error for known in self._ledger.failures(failure.judge)}
            if failure.error in billed[failure.judge]:
                continue
            if failure.judge in answering and failure.case in items:
                self._ledger.add_response(items[failure.case], failure)
            else:
                self._ledger.add(failure)

    def _contestants(self, mailbox: Mailbox) -> list[FiledModel]:
        filed = []
        for model in self._conductor.contestants:
            filed_model = filed_contestant(model, mailbox, self._ledger.failures, self._formers("contestant", model))
            if filed_model is not None:
                filed.append(filed_model)
                continue
            keys = [(item.key, 0) for item in self._conductor.items]
            if len(self._ledger.answered(model.name, keys)) < len(set(keys)):
                raise InputError(
                    f"the contestant {model.name!r} cannot be asked in a batch and has not answered yet; "
                    "let it answer first (fullbench answer, or fullbench run with a judge such as length)"
                )
        return filed

    def _judges(self, mailbox: Mailbox) -> tuple[list[FiledJudge], list[str]]:
        by_name = {
            judge.name: filed_judge(judge, mailbox, self._ledger.failures, self._formers("judge", judge))
            for judge in self._conductor.judges
        }
        filed = [judge for judge in by_name.values() if judge is not None]
        if not filed:
            raise InputError(
                "no judge of this study can be asked in a batch: that takes a model behind a server; use fullbench run"
            )
        return filed, [name for name, judge in by_name.items() if judge is None]

    def _formers(self, role: Role, who: Judge | Model) -> list[str]:
        """The names whose verdicts and answers are this one's: requests under them may still be on their way."""
        self.notices += introduce(self._ledger, role, who)
        return self._ledger.formers(role, who.name)

    def _models(self) -> Iterable[Model]:
        yield from self._conductor.contestants
        yield from models_asked(self._conductor.judges)

    def _bring(self, path: Path) -> None:
        """Take a file of replies to the batches that its lines belong to; these have ended then.

        A batch that is with a server has only ended when every line is there: the others would be asked twice. A file
        of which no line belongs here is refused: it is another study's.
        """
        lines: dict[str, list[bytes]] = {}
        try:
            with path.open("rb") as file:
                for line in file:
                    if line.strip() and (answer := named(line)):
                        lines.setdefault(answer[0], []).append(line)
        except OSError as error:
            raise InputError(f"the file cannot be read ({error.strerror})", path=path) from error
        taken = 0
        strangers = set(lines)
        for folder in self.shelf.folders():
            names = [name for name in folder.names() if name in lines]
            taken += len(names)
            strangers.difference_update(names)
            sent = folder.state.stage == "submitted"
            if names and folder.open and (not sent or len(names) == folder.state.requests):
                with replacing(folder.path / OUTPUT) as part:
                    part.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for name in names for line in lines[name]))
                folder.now(replace(folder.state, stage="ended", status="brought", done=len(names)))
        if strangers and taken:
            self.notices.append(
                f"{path}: {len(strangers):,} of its {len(lines):,} names are of no request of this study, and their "
                "replies were left out (and are on no bill here)"
            )
        if not taken:
            raise InputError(
                f"none of the {len(lines):,} lines in this file answers a request of this study; "
                "collect with the study and ledger that wrote the requests", path=path,
            )  # fmt: skip
