"""Live updates by server-sent events, for any number of workers.

`publish` writes a row in the transaction that makes the news true; each worker looks into that small table twice a
second while somebody listens, and passes on what is new. An event is a hint to look again, not the data itself: it may
come twice, and must hold nothing that a listener of its topic may not know.

Topics begin with who may listen: `public/...` every reader, `work/...` annotators, `organiser/...` organisers,
`user/ID` that user alone.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Header, HTTPException, Query, Request
from fastapi.responses import StreamingResponse
from sqlalchemy import Connection, Engine, delete, func, insert, select

from fullbench.web.accounts.account_tables import events
from fullbench.web.accounts.users import User
from fullbench.web.database import reading
from fullbench.web.page_access import Reader
from fullbench.web.site_settings import DAY
from fullbench.web.words import key

PAUSE = 0.5
PING = 15.0
LIFE = 300.0
"""A stream ends after this long; the browser comes back and says what it saw last."""
STREAMS = 1000
STREAMS_OF_ONE = 12
OVERLAP = 500
"""How far back each look goes: a row with a smaller number may be committed later than one with a larger."""
BACKLOG = 200

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Event:
    """One piece of news."""

    id: int
    topic: str
    payload: Any

    def text(self) -> str:
        data = json.dumps({"topic": self.topic, "payload": self.payload}, ensure_ascii=False)
        return f"id: {self.id}\ndata: {data}\n\n"


def publish(connection: Connection, topic: str, payload: Any = None) -> None:
    """Tell those who listen to a topic, once this transaction is committed."""
    inserted = connection.execute(
        insert(events).values(topic=topic[:120], payload=json.dumps(payload, ensure_ascii=False), at=time.time())
    )
    number = inserted.inserted_primary_key
    if number is not None and number[0] % OVERLAP == 0:
        connection.execute(delete(events).where(events.c.at < time.time() - DAY))


def since(connection: Connection, last: int, topics: Sequence[str] | None = None) -> list[Event]:
    """Events after a number, of some topics or of all; at most `BACKLOG` and `OVERLAP` together."""
    query = select(events).where(events.c.id > last).order_by(events.c.id).limit(BACKLOG + OVERLAP)
    if topics is not None:
        query = query.where(events.c.topic.in_(topics))
    return [Event(row.id, row.topic, json.loads(row.payload)) for row in connection.execute(query)]


@dataclass(eq=False)
class Listener:
    """One open stream."""

    topics: frozenset[str]
    user: str
    queue: asyncio.Queue[Event | None] = field(default_factory=lambda: asyncio.Queue(BACKLOG))


class Hub:
    """The streams of one worker, and the one look into the table that serves them all."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._seen: set[int] = set()
        self._last = 0
        self._closed = False

    def room(self, user: str) -> bool:
        """Whether one more stream is taken."""
        own = sum(listener.user == user for listener in list(self._listeners))
        return not self._closed and len(self._listeners) < STREAMS and (not user or own < STREAMS_OF_ONE)

    def close(self) -> None:
        """End all streams: the worker stops."""
        self._closed = True
        for listener in list(self._listeners):
            _put(listener, None)

    async def stream(self, listener: Listener, last: int | None) -> AsyncIterator[str]:
        """The text of one stream, from its start to its end."""
        await self._enter(listener)
        try:
            yield "retry: 2000\n\n"
            if last is not None:
                for event in await asyncio.to_thread(self._missed, last, listener):
                    yield event.text()
            end = time.monotonic() + LIFE
            while (left := end - time.monotonic()) > 0:
                try:
                    news = await asyncio.wait_for(listener.queue.get(), min(PING, left))
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                if news is None:
                    return
                yield news.text()
        finally:
            self._listeners.discard(listener)

    async def _enter(self, listener: Listener) -> None:
        if self._task is None or self._task.done():
            await asyncio.to_thread(self._begin)
            self._listeners.add(listener)
            self._task = asyncio.create_task(self._look())
        else:
            self._listeners.add(listener)
        if self._closed:
            _put(listener, None)

    async def _look(self) -> None:
        while self._listeners:
            for event in await asyncio.to_thread(self._news):
                for listener in list(self._listeners):
                    if event.topic in listener.topics:
                        _put(listener, event)
            await asyncio.sleep(PAUSE)

    def _begin(self) -> None:
        with reading(self._engine) as connection:
            self._last = connection.execute(select(func.coalesce(func.max(events.c.id), 0))).scalar_one()
            self._seen = {event.id for event in since(connection, self._last - OVERLAP)}

    def _news(self) -> list[Event]:
        with reading(self._engine) as connection:
            unseen = [event for event in since(connection, self._last - OVERLAP) if event.id not in self._seen]
        if unseen:
            self._last = max(self._last, unseen[-1].id)
            self._seen = {number for number in self._seen if number > self._last - OVERLAP}
            self._seen |= {event.id for event in unseen}
        return unseen

    def _missed(self, last: int, listener: Listener) -> list[Event]:
        with reading(self._engine) as connection:
            return since(connection, last, sorted(listener.topics))


def _put(listener: Listener, event: Event | None) -> None:
    """Hand on; a stream that does not keep up ends, and its browser comes back for what it missed."""
    try:
        listener.queue.put_nowait(event)
    except asyncio.QueueFull:
        while not listener.queue.empty():
            listener.queue.get_nowait()
        listener.queue.put_nowait(None)


def may_listen(user: User | None, topic: str) -> bool:
    """Whether somebody may hear of a topic."""
    kind, _, rest = topic.partition("/")
    if kind == "public":
        return True
    if user is None:
        return False
    if kind == "user":
        return rest == user.id
    return (kind == "work" and user.may("annotator")) or (kind == "organiser" and user.may("organiser"))


@router.get("/events")
def listen(
    request: Request,
    user: Reader,
    topic: Annotated[list[str], Query(max_length=8)],
    last_event_id: Annotated[str, Header()] = "",
) -> StreamingResponse:
    """A stream of events on some topics; `Last-Event-ID` brings what was missed."""
    hub: Hub = request.app.state.hub
    if not all(len(name) <= 120 and may_listen(user, name) for name in topic):
        raise HTTPException(403, key("Your account may not do this."))
    listener = Listener(frozenset(topic), user.id if user else "")
    if not hub.room(listener.user):
        raise HTTPException(503, key("Too many pages are open; close some."), {"Retry-After": "30"})
    last = (
        int(last_event_id) if last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) < 16 else None
    )
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(hub.stream(listener, last), media_type="text/event-stream", headers=headers)
