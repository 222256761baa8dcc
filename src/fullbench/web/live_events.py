"""Live updates by server-sent events, for any number of workers.

`publish_event` writes a row in the same transaction as the change it announces. While somebody listens, each worker
polls that small table twice a second and sends new events. An event tells the page to reload data; it does not
contain the data. It may arrive twice. It must contain nothing that a listener of its topic may not know.

The start of a topic says who may listen: `public/...` every reader, `work/...` annotators, `organiser/...` leads,
`user/ID` only that user.
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

from fullbench.web.accounts.account_and_shared_site_tables import events
from fullbench.web.accounts.users import User
from fullbench.web.database import read_transaction
from fullbench.web.route_access_connection_and_csrf_checks import Reader
from fullbench.web.site_settings_and_worker_transfer import DAY
from fullbench.web.words import key

# One query of all workers per pause: news feel immediate, and the database rests.
PAUSE = 0.5
# Proxies close a connection that is silent for 30 to 60 seconds.
PING = 15.0
LIFE = 300.0
"""Seconds after which a stream ends; the browser reconnects and sends the last event id."""
# Each holds a connection: the limit leaves sockets for pages.
STREAMS = 1000
# A person with many tabs must not take the places of others.
STREAMS_OF_ONE = 12
OVERLAP = 500
"""Each poll goes back by this many ids: a row with a smaller id may be committed later than one with a larger."""
BACKLOG = 200

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Event:
    """One event as stored in the database."""

    id: int
    topic: str
    payload: Any

    def text(self) -> str:
        data = json.dumps({"topic": self.topic, "payload": self.payload}, ensure_ascii=False)
        return f"id: {self.id}\ndata: {data}\n\n"


def publish_event(connection: Connection, topic: str, payload: Any = None) -> None:
    """Send an event to the listeners of a topic once this transaction is committed."""
    cursor = connection.execute(
        insert(events).values(topic=topic[:120], payload=json.dumps(payload, ensure_ascii=False), at=time.time())
    )
    number = cursor.inserted_primary_key
    # Delete old events only now and then: with every 500th event.
    if number is not None and number[0] % OVERLAP == 0:
        connection.execute(delete(events).where(events.c.at < time.time() - DAY))


def events_since(connection: Connection, last: int, topics: Sequence[str] | None = None) -> list[Event]:
    """Return events after an id, of some topics or of all; at most `BACKLOG + OVERLAP`."""
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
    """Open streams of one worker. One poll of the table serves them all."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._seen_ids: set[int] = set()
        self._last = 0
        self._closed = False

    def has_room(self, user: str) -> bool:
        """Return True if one more stream may be opened for this user."""
        user_streams = sum(listener.user == user for listener in list(self._listeners))
        return not self._closed and len(self._listeners) < STREAMS and (not user or user_streams < STREAMS_OF_ONE)

    def close(self) -> None:
        """End all streams because the worker stops."""
        self._closed = True
        for listener in list(self._listeners):
            _put_event(listener, None)

    async def stream(self, listener: Listener, last: int | None) -> AsyncIterator[str]:
        """Yield the text of one stream until it ends."""
        await self._register_listener(listener)
        try:
            yield "retry: 2000\n\n"
            if last is not None:
                for event in await asyncio.to_thread(self._missed_events, last, listener):
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

    async def _register_listener(self, listener: Listener) -> None:
        if self._task is None or self._task.done():
            await asyncio.to_thread(self._start_after_last_event)
            self._listeners.add(listener)
            self._task = asyncio.create_task(self._poll_events())
        else:
            self._listeners.add(listener)
        if self._closed:
            _put_event(listener, None)

    async def _poll_events(self) -> None:
        while self._listeners:
            for event in await asyncio.to_thread(self._new_events):
                for listener in list(self._listeners):
                    if event.topic in listener.topics:
                        _put_event(listener, event)
            await asyncio.sleep(PAUSE)

    def _start_after_last_event(self) -> None:
        with read_transaction(self._engine) as connection:
            self._last = connection.execute(select(func.coalesce(func.max(events.c.id), 0))).scalar_one()
            self._seen_ids = {event.id for event in events_since(connection, self._last - OVERLAP)}

    def _new_events(self) -> list[Event]:
        with read_transaction(self._engine) as connection:
            unseen = [
                event for event in events_since(connection, self._last - OVERLAP) if event.id not in self._seen_ids
            ]
        if unseen:
            self._last = max(self._last, unseen[-1].id)
            self._seen_ids = {number for number in self._seen_ids if number > self._last - OVERLAP}
            self._seen_ids |= {event.id for event in unseen}
        return unseen

    def _missed_events(self, last: int, listener: Listener) -> list[Event]:
        with read_transaction(self._engine) as connection:
            return events_since(connection, last, sorted(listener.topics))


def _put_event(listener: Listener, event: Event | None) -> None:
    """A stream that cannot keep up ends; its browser reconnects and gets what it missed."""
    try:
        listener.queue.put_nowait(event)
    except asyncio.QueueFull:
        while not listener.queue.empty():
            listener.queue.get_nowait()
        listener.queue.put_nowait(None)


def may_listen(user: User | None, topic: str) -> bool:
    """Return True if a user may listen to a topic."""
    kind, _, topic_id = topic.partition("/")
    if kind == "public":
        return True
    if user is None:
        return False
    if kind == "user":
        return topic_id == user.id
    return (kind == "work" and user.may("annotator")) or (kind == "organiser" and user.may("organiser"))


@router.get("/events")
def stream_events(
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
    if not hub.has_room(listener.user):
        raise HTTPException(503, key("Too many pages are open; close some."), {"Retry-After": "30"})
    last = (
        int(last_event_id) if last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) < 16 else None
    )
    # X-Accel-Buffering: nginx must not hold events back.
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(hub.stream(listener, last), media_type="text/event-stream", headers=headers)
