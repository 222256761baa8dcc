"""Steps of a batch study: write, submit, poll, collect, cancel. Each can be interrupted and repeated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import Judge, answer_request_of, answers_first, models_of, with_models
from fullbench.core.model import Model, Prompt, Reply
from fullbench.core.verdict import Failure, Verdict
from fullbench.errors import InputError
from fullbench.files.row_writers import replace_atomically
from fullbench.ledger.contents_and_cost import Role
from fullbench.ledger.ledger import Ledger
from fullbench.models.chat_model import ChatModel
from fullbench.models.wire.batch_lines import parse_batch_line, reply_from_line, takes_batches
from fullbench.models.wire.video_frames_and_document_pages import use_stored_stills
from fullbench.studies.batches.batch_client import BatchClient
from fullbench.studies.batches.batch_folders import OUTPUT, BatchFolder, BatchStore
from fullbench.studies.batches.reply_lookup_and_missing_requests import FileLimits, Mailbox, PassCounts, RequestContext
from fullbench.studies.engines import JobCounts, register_in_ledger
from fullbench.studies.run.answer_items import Question, collect_answers
from fullbench.studies.run.call_and_cost_plan import models_of_judges
from fullbench.studies.run.judge_cases import judge_cases
from fullbench.studies.run.judging_study_kind import StudyRun

FailureLookup = Callable[[str], Iterable[Failure]]


@dataclass(frozen=True, eq=False)
class BatchFileModel:
    """A chat model with replies from a mailbox. `at` returns the task of a prompt if the judge does not set it."""

    inner: ChatModel
    context: RequestContext
    mailbox: Mailbox
    at: Callable[[Prompt], tuple[str, int]] | None = None

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.inner.settings

    @property
    def price(self) -> tuple[float, float] | None:
        return self.inner.price

    @property
    def takes_schemas(self) -> bool:
        return self.inner.takes_schemas

    @property
    def media_kinds(self) -> frozenset[str]:
        return self.inner.media_kinds

    def prepare(self, prompt: Prompt) -> Prompt:
        """Return the prompt as the model sends it."""
        with use_stored_stills(self.mailbox.find_stills):
            return self.inner.prepare(prompt)

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Yield the replies that exist. Other prompts are written as requests or wait, without an outcome."""
        for prompt in prompts:
            if self.at is not None:
                self.context.set_task(*self.at(prompt))
            reply = self.mailbox.reply(self.inner, self.context, prompt)
            if reply is not None:
                if reply.error is not None:
                    self.context.failed_usage = reply.usage
                yield reply


@dataclass(frozen=True, eq=False)
class BatchFileJudge:
    """A judge whose models answer from files, one case at a time, so that each request has its case's name.

    A failure costs only its failed request. Earlier replies for the same case are still available, and are billed with
    the verdict that they lead to.
    """

    inner: Judge
    context: RequestContext
    answering_model: BatchFileModel
    """Model for the judge's own answers, if it answers first."""

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.inner.settings

    @property
    def answers_first(self) -> bool:
        """Return True if this judge answers the question before it sees the responses."""
        return answers_first(self.inner)

    def answer_request(self, case: Case) -> Item | None:
        """Return the request for the judge's own answer, if it answers first."""
        return answer_request_of(self.inner, case)

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        for case in cases:
            self.context.set_task(case.key, case.trial)
            for outcome in self.inner.judge((case,)):
                yield outcome if isinstance(outcome, Verdict) else replace(outcome, usage=self.context.failed_usage)


def judge_from_batch_files(
    judge: Judge, mailbox: Mailbox, failures: FailureLookup, formers: Iterable[str] = ()
) -> BatchFileJudge | None:
    """Return the judge with models that answer from files, or None if a model takes no batches or it has none."""
    context = RequestContext(judge.name, failures(judge.name), formers)
    models = models_of(judge) or ()
    batch_models = [BatchFileModel(model, context, mailbox) for model in models if isinstance(model, ChatModel)]
    if not batch_models or len(batch_models) < len(models) or not all(map(takes_batches, models)):
        return None
    inner = with_models(judge, batch_models)
    answering_model = contestant_from_batch_files(models[0], mailbox, failures)
    return None if inner is None or answering_model is None else BatchFileJudge(inner, context, answering_model)


def contestant_from_batch_files(
    model: Model, mailbox: Mailbox, failures: FailureLookup, formers: Iterable[str] = ()
) -> BatchFileModel | None:
    """Return the contestant with answers from files, or None if it only takes live calls."""
    if not isinstance(model, ChatModel) or not takes_batches(model):
        return None

    def at(prompt: Prompt) -> tuple[str, int]:
        question: Question = prompt.tag
        return question.item.key, question.sample

    return BatchFileModel(model, RequestContext(model.name, failures(model.name), formers), mailbox, at)


UNSUCCESSFUL_STATUSES = frozenset({"failed", "expired", "cancelled"})
# A small batch may end soon ...
FIRST_WAIT = 5.0
# ... and a large one takes hours: polling more often only counts against rate limits.
LONGEST_WAIT = 300.0


@dataclass
class BatchPass:
    """Result of one pass over a study: new batches, counts, excluded judges, job counts."""

    batches: list[BatchFolder]
    count: PassCounts
    left_out: list[str]
    notices: Sequence[str] = ()
    job_counts: list[JobCounts] = field(default_factory=list)

    @property
    def settled_count(self) -> int:
        """Number of new answers and verdicts in the ledger."""
        return sum(counts.finished_count for counts in self.job_counts)

    @property
    def stored_count(self) -> int:
        return sum(counts.stored_count for counts in self.job_counts)

    @property
    def failure_count(self) -> int:
        return sum(counts.failure_count for counts in self.job_counts)


class BatchRun:
    """A study that is run through batch files."""

    def __init__(self, study_run: StudyRun, ledger: Ledger) -> None:
        self._study_run = study_run
        self._ledger = ledger
        self.store = BatchStore(ledger.path)
        self._client = BatchClient(self.store, self._models)
        self.notices: list[str] = []

    def write(self, *, rate: float, size: FileLimits | None = None) -> BatchPass:
        """Write requests for tasks that are due and not in an open batch; available replies are read, too."""
        with self._ledger.hold_lock("batches"):
            return self._run_pass(Mailbox(self.store, rate, size or FileLimits(), writing=True))

    def collect(self, reply_files: Sequence[Path] = ()) -> BatchPass:
        """Read replies into the ledger, from servers and from `reply_files`. Repeating it adds nothing."""
        with self._ledger.hold_lock("batches"):
            for path in reply_files:
                self._add_reply_file(path)
            for folder in self.store.folders():
                if folder.state.stage == "submitted":
                    self._client.update_status(folder)
            return self._run_pass(Mailbox(self.store))

    def submit(self, again: bool = False) -> list[BatchFolder]:
        """Send all batches that were written and not sent, and return them."""
        with self._ledger.hold_lock("batches"):
            waiting = [folder for folder in self.store.folders() if folder.state.stage in {"written", "creating"}]
            return [self._client.send(folder, again) for folder in waiting]

    def cancel(self) -> list[BatchFolder]:
        """Cancel open batches. Servers return what was answered by then; unsent batches are removed."""
        with self._ledger.hold_lock("batches"):
            stopped_folders = [
                self._client.stop(folder) if folder.is_open else folder for folder in self.store.folders()
            ]
            return [folder for folder in stopped_folders if folder is not None]

    def update_statuses(self) -> list[BatchFolder]:
        """Poll the servers, download finished batches, and return all batches."""
        with self._ledger.hold_lock("batches"):
            return [
                self._client.update_status(folder) if folder.state.stage == "submitted" else folder
                for folder in self.store.folders()
            ]

    def wait(
        self, watch: Callable[[list[BatchFolder]], bool], *, first: float = FIRST_WAIT, sleep: Callable[[float], None]
    ) -> list[BatchFolder]:
        """Poll with growing pauses until all sent batches have ended, or `watch` returns False."""
        wait = first
        while True:
            folders = self.update_statuses()
            if not any(folder.state.stage == "submitted" for folder in folders) or not watch(folders):
                return folders
            sleep(wait)
            wait = min(LONGEST_WAIT, wait * 1.5)

    def _run_pass(self, mailbox: Mailbox) -> BatchPass:
        study_run, ledger = self._study_run, self._ledger
        batch_pass = BatchPass([], mailbox.count, [])
        with mailbox.open_files():
            unbilled_folders = [
                folder for folder in self.store.folders() if not folder.is_open and not folder.state.is_settled
            ]
            contestants = self._contestants(mailbox)
            if contestants:
                batch_pass.job_counts += collect_answers(contestants, study_run.items, ledger)
            if all(counts.in_flight == 0 and not counts.failure_count for counts in batch_pass.job_counts):
                judges, batch_pass.left_out = self._judges(mailbox)
                responses = study_run.responses(ledger)
                batch_pass.job_counts += judge_cases(
                    judges, lambda judge: study_run.cases_to_judge(judge, responses), ledger
                )
            for folder in unbilled_folders:
                self._settle_batch(folder, batch_pass.count)
            ledger.flush()
        # Only after the flush: if the process is killed before it, the next pass must bill these replies.
        for folder in unbilled_folders:
            folder.with_state(replace(folder.state, is_settled=True))
        batch_pass.batches = mailbox.new_batches
        batch_pass.notices, self.notices = self.notices, []
        return batch_pass

    def _settle_batch(self, folder: BatchFolder, count: PassCounts) -> None:
        """Report a batch that did not succeed, and bill replies that led to no verdict, once."""
        state = folder.state
        if state.status in UNSUCCESSFUL_STATUSES:
            why = f" ({state.note})" if state.note else ""
            self.notices.append(
                f"the batch {folder.path.name} is {state.status}{why}: {state.done:,} of its {state.requests:,} "
                "requests were answered, the others are due again"
            )
        items = {item.key: item for item in self._study_run.items}
        answering = {model.name for model in self._study_run.contestants}
        billed_errors: dict[str, set[str]] = {}
        for extra in find_extra_replies(folder, self._client.model_of(folder)):
            failure = extra.failure
            if extra.kind == "unknown":
                count.unknown += 1
            else:
                count.second += 1
            if failure.judge not in billed_errors:
                billed_errors[failure.judge] = {
                    stored_failure.error for stored_failure in self._ledger.failures(failure.judge)
                }
            if failure.error in billed_errors[failure.judge]:
                continue
            if failure.judge in answering and failure.case in items:
                self._ledger.add_response(items[failure.case], failure)
            else:
                self._ledger.add(failure)

    def _contestants(self, mailbox: Mailbox) -> list[BatchFileModel]:
        batch_models = []
        for model in self._study_run.contestants:
            filed_model = contestant_from_batch_files(
                model, mailbox, self._ledger.failures, self._formers("contestant", model)
            )
            if filed_model is not None:
                batch_models.append(filed_model)
                continue
            keys = [(item.key, 0) for item in self._study_run.items]
            if len(self._ledger.answered_keys(model.name, keys)) < len(set(keys)):
                raise InputError(
                    f"the contestant {model.name!r} does not support batches and has not answered yet. Let it answer "
                    "first (fullbench answer, or fullbench run with a judge such as length)"
                )
        return batch_models

    def _judges(self, mailbox: Mailbox) -> tuple[list[BatchFileJudge], list[str]]:
        by_name = {
            judge.name: judge_from_batch_files(judge, mailbox, self._ledger.failures, self._formers("judge", judge))
            for judge in self._study_run.judges
        }
        batch_judges = [judge for judge in by_name.values() if judge is not None]
        if not batch_judges:
            raise InputError(
                "no judge of this study supports batches, which need a model on a server. Use fullbench run"
            )
        return batch_judges, [name for name, judge in by_name.items() if judge is None]

    def _formers(self, role: Role, who: Judge | Model) -> list[str]:
        """Open requests may still use the former names."""
        self.notices += register_in_ledger(self._ledger, role, who)
        return self._ledger.former_names(role, who.name)

    def _models(self) -> Iterable[Model]:
        yield from self._study_run.contestants
        yield from models_of_judges(self._study_run.judges)

    def _add_reply_file(self, path: Path) -> None:
        """Copy the lines of a reply file to their batches, which have then ended.

        A server's batch ends only with all its replies; otherwise the rest would be requested twice. A file without any
        matching line belongs to another study and is refused.
        """
        lines: dict[str, list[bytes]] = {}
        try:
            with path.open("rb") as file:
                for line in file:
                    if line.strip() and (answer := parse_batch_line(line)):
                        lines.setdefault(answer[0], []).append(line)
        except OSError as error:
            raise InputError(f"the file cannot be read ({error.strerror})", path=path) from error
        matched_count = 0
        strangers = set(lines)
        for folder in self.store.folders():
            names = [name for name in folder.names() if name in lines]
            matched_count += len(names)
            strangers.difference_update(names)
            is_submitted = folder.state.stage == "submitted"
            if names and folder.is_open and (not is_submitted or len(names) == folder.state.requests):
                with replace_atomically(folder.path / OUTPUT) as part:
                    part.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for name in names for line in lines[name]))
                folder.with_state(replace(folder.state, stage="ended", status="brought", done=len(names)))
        if strangers and matched_count:
            self.notices.append(
                f"{path}: {len(strangers):,} of its {len(lines):,} names are of no request of this study, and their "
                "replies were left out (and are on no bill here)"
            )
        if not matched_count:
            raise InputError(
                f"none of the {len(lines):,} lines in this file answers a request of this study; "
                "collect with the study and ledger that wrote the requests", path=path,
            )  # fmt: skip


Kind = Literal["unknown", "second"]
NOTHING_ASKED = Prompt(())
_NAME = re.compile(r"(.+)-(\d+)-([0-9a-f]{8})-[0-9a-f]{8}")


@dataclass(frozen=True)
class ExtraReply:
    """An unmatched reply, and the failure that bills it.

    A reply with an unknown name is billed to a request without a reply, if there is one: it most likely belongs to it.
    Of several replies to a request, the last successful one counts.
    """

    kind: Kind
    failure: Failure


def find_extra_replies(folder: BatchFolder, model: ChatModel) -> Iterator[ExtraReply]:
    """Yield the replies of a finished batch that lead to no verdict."""
    names = dict.fromkeys(folder.names())
    replies_by_name: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    strays: list[tuple[str, str, Mapping[str, Any]]] = []
    for where, name, line in _reply_lines(folder):
        if name in names:
            replies_by_name.setdefault(name, []).append((where, line))
        else:
            strays.append((where, name, line))
    silent = [name for name in names if name not in replies_by_name] or list(names)
    for number, (where, name, line) in enumerate(strays):
        why = f"a reply bears the name {name[:80]!r}, which no request has ({where})"
        yield ExtraReply("unknown", _billed_failure(folder, model, silent[number % len(silent)], why, line))
    for name, lines in replies_by_name.items():
        good = [
            place for place, (_, line) in enumerate(lines) if reply_from_line(model, NOTHING_ASKED, line).error is None
        ]
        counted_place = good[-1] if good else len(lines) - 1
        for place, (where, line) in enumerate(lines):
            if place != counted_place:
                yield ExtraReply(
                    "second", _billed_failure(folder, model, name, f"a second reply to one request ({where})", line)
                )


def _reply_lines(folder: BatchFolder) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path in folder.replies:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                answer = parse_batch_line(line) if line.strip() else None
                if answer is not None:
                    yield f"{path.name}, line {number}", *answer


def _billed_failure(folder: BatchFolder, model: ChatModel, name: str, why: str, line: Mapping[str, Any]) -> Failure:
    match = _NAME.fullmatch(name)
    key, trial, tail = (match[1], int(match[2]), match[3]) if match else (name, 0, "")
    asks = folder.state.asks
    who = next((asker for asker in asks if digest(asker)[:8] == tail), asks[0])
    usage = reply_from_line(model, NOTHING_ASKED, line, folder.state.rate).usage
    return Failure(key, who, trial, f"batch {folder.path.name}: {why}", usage)
