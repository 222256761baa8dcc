"""Client of batch servers: create each batch exactly once, poll, download and cancel it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fullbench.core.model import Model
from fullbench.errors import InputError, ModelError
from fullbench.models.chat_model import ChatModel
from fullbench.models.wire.batch_lines import parse_batch_line
from fullbench.studies.batches.batch_folders import ERRORS, OUTPUT, REQUESTS, BatchFolder, BatchStore

if TYPE_CHECKING:
    from fullbench.models.batch_services.base import BatchOrder, BatchServer, CreatedBatch

# After an unclear answer, the batch may exist: it is looked up before it is created again, so that nobody pays twice.
CREATE_TRIES = 4


class BatchClient:
    """Sends batches to servers and fetches results. `models` returns the models of a study."""

    def __init__(self, shelf: BatchStore, models: Callable[[], Iterable[Model]]) -> None:
        self._shelf, self._models = shelf, models

    def send(self, folder: BatchFolder, again: bool) -> BatchFolder:
        """Create a batch once: if an earlier attempt may have succeeded, search for its batch first."""
        from fullbench.models.batch_services import batch_server
        from fullbench.models.batch_services.base import UnknownOutcome

        server = batch_server(self.model_of(folder))
        doubt = "a run was cut off while it created it" if folder.state.stage == "creating" and not again else ""
        for attempt in range(CREATE_TRIES):
            if doubt and (sent_batch := self._find_created_batch(server, folder, doubt)) is not None:
                return _mark_submitted(folder, sent_batch.batch, is_sure=sent_batch.is_confirmed)
            order = server.prepare(self._order(folder))
            folder = folder.with_state(
                replace(folder.state, stage="creating", file=order.file, before=order.previous_batch)
            )
            try:
                batch = server.create(order)
            except UnknownOutcome as unsure:
                doubt = unsure.why
                server.sleep(server.model.limits.backoff * (attempt + 1))
            else:
                return _mark_submitted(folder, batch, is_sure=True)
        raise ModelError(
            f"the batch {folder.path.name} was not created ({doubt}). Run the same command again to continue"
        )

    def _order(self, folder: BatchFolder) -> BatchOrder:
        from fullbench.models.batch_services.base import BatchOrder

        state = folder.state
        known_batches = {
            sibling.state.batch
            for sibling in self._shelf.folders()
            if sibling.state.batch and sibling.path != folder.path
        }
        return BatchOrder(
            folder.path / REQUESTS, state.requests, state.token, state.file, state.before,
            frozenset(known_batches).union(state.others),
        )  # fmt: skip

    def _find_created_batch(self, server: BatchServer, folder: BatchFolder, why: str) -> CreatedBatch | None:
        from fullbench.models.batch_services.base import UnknownOutcome

        try:
            return server.find(self._order(folder))
        except UnknownOutcome as doubt:
            raise ModelError(
                f"it is not known whether the batch {folder.path.name} was created ({why}), and {doubt.why}; "
                "check there, and if it was not created, run: fullbench batch submit --again"
            ) from doubt

    def update_status(self, folder: BatchFolder) -> BatchFolder:
        from fullbench.models.batch_services import batch_server
        from fullbench.models.batch_services.base import ENDED_STATUSES

        server = batch_server(self.model_of(folder))
        standing = server.fetch_status(folder.state.batch)
        state = replace(
            folder.state,
            status=standing.status,
            done=standing.completed_count,
            failed=standing.failed_count,
            note=standing.note,
        )
        if standing.status not in ENDED_STATUSES:
            return folder.with_state(state)
        for file, name in ((standing.output, OUTPUT), (standing.errors, ERRORS)):
            if file is not None:
                server.fetch(file, folder.path / name)
        if not state.sure and not _is_ours(folder):
            return _disown_batch(folder)
        return folder.with_state(
            replace(state, stage="ended", sure=True, done=state.done or _count_lines(folder.path / OUTPUT))
        )

    def stop(self, folder: BatchFolder) -> BatchFolder | None:
        """Cancel a batch; a batch that was never sent is removed, and None is returned."""
        from fullbench.models.batch_services import batch_server

        server = batch_server(self.model_of(folder))
        if folder.state.stage == "creating":
            sent_batch = self._find_created_batch(server, folder, "a run was cut off while it created it")
            if sent_batch is not None:
                folder = _mark_submitted(folder, sent_batch.batch, is_sure=sent_batch.is_confirmed)
        if folder.state.stage != "submitted":
            folder.remove()
            return None
        folder = self.update_status(folder)
        if folder.state.stage == "submitted" and not folder.state.sure:
            raise ModelError(
                f"it is not known yet whether the batch {folder.state.batch} at the server is {folder.path.name}; "
                "check again when it has ended (fullbench batch status), or cancel it there"
            )
        if folder.state.stage == "submitted":
            server.cancel(folder.state.batch)
            folder = self.update_status(folder)
        return folder

    def model_of(self, folder: BatchFolder) -> ChatModel:
        """Return the model of a batch; its key and limits are used for the server."""
        for model in self._models():
            if isinstance(model, ChatModel) and (model.url, model.name) == (folder.state.server, folder.state.model):
                return model
        who = ", ".join(folder.state.asks)
        raise InputError(
            f"the batch {folder.path.name} calls {folder.state.model!r} at {folder.state.server} for {who}, which "
            f"this study does not use. Use the study that wrote it, or remove {folder.path}"
        )


def _mark_submitted(folder: BatchFolder, batch: str, *, is_sure: bool) -> BatchFolder:
    return folder.with_state(replace(folder.state, stage="submitted", batch=batch, status="submitted", sure=is_sure))


def _count_lines(path: Path) -> int:
    """Count replies of servers that report no count."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(bool(line.strip()) for line in file)


def _is_ours(folder: BatchFolder) -> bool:
    """Return True if the replies answer requests of this folder."""
    names = set(folder.names())
    for path in folder.replies:
        with path.open("rb") as file:
            if any(answer[0] in names for line in file if (answer := parse_batch_line(line))):
                return True
    return False


def _disown_batch(folder: BatchFolder) -> BatchFolder:
    """Drop a server batch that turned out to be someone else's, so that the right one is searched again."""
    for path in folder.replies:
        path.unlink()
    foreign_batches = (*folder.state.others, folder.state.batch)
    return folder.with_state(
        replace(
            folder.state, stage="creating", batch="", status="", done=0, failed=0, others=foreign_batches, sure=True
        )
    )
