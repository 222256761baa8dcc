"""What is said to the servers: a batch is created once, looked at, fetched and cancelled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fullbench.core.model import Model
from fullbench.errors import InputError, ModelError
from fullbench.models.chat_model import ChatModel
from fullbench.models.wire.batch_lines import named
from fullbench.studies.batches.batch_folders import ERRORS, OUTPUT, REQUESTS, Folder, Shelf

if TYPE_CHECKING:
    from fullbench.models.batch_services import BatchServer, Order, Sent

CREATE_TRIES = 4


class Posting:
    """Takes batches to their servers and back. `models` gives those that a study asks."""

    def __init__(self, shelf: Shelf, models: Callable[[], Iterable[Model]]) -> None:
        self._shelf, self._models = shelf, models

    def send(self, folder: Folder, again: bool) -> Folder:
        """Create a batch, once: whatever may have created it before is looked for first."""
        from fullbench.models.batch_services import Unsure, batch_server

        server = batch_server(self.model_of(folder))
        doubt = "a run was cut off while it created it" if folder.state.stage == "creating" and not again else ""
        for attempt in range(CREATE_TRIES):
            if doubt and (sent := self._found(server, folder, doubt)) is not None:
                return _sent(folder, sent)
            order = server.prepare(self._order(folder))
            folder = folder.now(replace(folder.state, stage="creating", file=order.file, before=order.before))
            try:
                batch = server.create(order)
            except Unsure as unsure:
                doubt = unsure.why
                server.sleep(server.model.limits.backoff * (attempt + 1))
            else:
                return folder.now(replace(folder.state, stage="submitted", batch=batch, status="submitted", sure=True))
        raise ModelError(f"the batch {folder.path.name} was not created ({doubt}); the same command goes on from here")

    def _order(self, folder: Folder) -> Order:
        from fullbench.models.batch_services import Order

        state = folder.state
        known = {
            other.state.batch for other in self._shelf.folders() if other.state.batch and other.path != folder.path
        }
        return Order(
            folder.path / REQUESTS, state.requests, state.token, state.file, state.before,
            frozenset(known).union(state.others),
        )  # fmt: skip

    def _found(self, server: BatchServer, folder: Folder, why: str) -> Sent | None:
        """The batch that may have been created before; None when it was not."""
        from fullbench.models.batch_services import Unsure

        try:
            return server.find(self._order(folder))
        except Unsure as doubt:
            raise ModelError(
                f"it is not known whether the batch {folder.path.name} was created ({why}), and {doubt.why}; "
                "look there, and if it was not, run: fullbench batch submit --again"
            ) from doubt

    def look(self, folder: Folder) -> Folder:
        from fullbench.models.batch_services import ENDED, batch_server

        server = batch_server(self.model_of(folder))
        standing = server.standing(folder.state.batch)
        state = replace(
            folder.state, status=standing.status, done=standing.done, failed=standing.failed, note=standing.note
        )
        if standing.status not in ENDED:
            return folder.now(state)
        for file, name in ((standing.output, OUTPUT), (standing.errors, ERRORS)):
            if file is not None:
                server.fetch(file, folder.path / name)
        if not state.sure and not _is_ours(folder):
            return _disowned(folder)
        return folder.now(replace(state, stage="ended", sure=True, done=state.done or _lines(folder.path / OUTPUT)))

    def stop(self, folder: Folder) -> Folder | None:
        """Cancel a batch; one that no server has is given up at once, and None."""
        from fullbench.models.batch_services import batch_server

        server = batch_server(self.model_of(folder))
        if folder.state.stage == "creating":
            sent = self._found(server, folder, "a run was cut off while it created it")
            folder = folder if sent is None else _sent(folder, sent)
        if folder.state.stage != "submitted":
            folder.remove()
            return None
        folder = self.look(folder)
        if folder.state.stage == "submitted" and not folder.state.sure:
            raise ModelError(
                f"it is not known yet whether the batch {folder.state.batch} at the server is {folder.path.name}; "
                "look again when it has ended (fullbench batch status), or cancel it there"
            )
        if folder.state.stage == "submitted":
            server.cancel(folder.state.batch)
            folder = self.look(folder)
        return folder

    def model_of(self, folder: Folder) -> ChatModel:
        """The model that a batch asks: its server is spoken to with this model's key and patience."""
        for model in self._models():
            if isinstance(model, ChatModel) and (model.url, model.name) == (folder.state.server, folder.state.model):
                return model
        who = ", ".join(folder.state.asks)
        raise InputError(
            f"the batch {folder.path.name} asks {folder.state.model!r} at {folder.state.server} for {who}, which this "
            f"study does not name; use the study that wrote it, or remove {folder.path}"
        )


def _sent(folder: Folder, sent: Sent) -> Folder:
    """The batch of a folder was found at the server."""
    return folder.now(replace(folder.state, stage="submitted", batch=sent.batch, status="submitted", sure=sent.sure))


def _lines(path: Path) -> int:
    """How many lines came back; for a server that does not count."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(bool(line.strip()) for line in file)


def _is_ours(folder: Folder) -> bool:
    """Whether what came back answers requests of this folder."""
    names = set(folder.names())
    for path in folder.replies:
        with path.open("rb") as file:
            if any(answer[0] in names for line in file if (answer := named(line))):
                return True
    return False


def _disowned(folder: Folder) -> Folder:
    """The batch that was taken for this one is somebody else's: look for the right one."""
    for path in folder.replies:
        path.unlink()
    others = (*folder.state.others, folder.state.batch)
    return folder.now(
        replace(folder.state, stage="creating", batch="", status="", done=0, failed=0, others=others, sure=True)
    )
