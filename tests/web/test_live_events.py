"""Live updates through a real server with two workers: what is published anywhere reaches who may hear it, once."""

import http.client
import json
import threading
from urllib.parse import urlencode, urlsplit

import pytest

from fullbench.web import live_events
from fullbench.web.database import read_transaction, write_transaction
from tests.support.wait_until import LONG, until
from tests.web.conftest import emptied, start_live


class Stream(threading.Thread):
    """An open stream, read as a browser does."""

    def __init__(self, live, cookie, topics, last=None):
        super().__init__(daemon=True)
        self.heard, self.ids, self.open = [], [], threading.Event()
        address = urlsplit(live.url)
        self.connection = http.client.HTTPConnection(address.hostname, address.port, timeout=LONG)
        headers = {"Cookie": f"{cookie['name']}={cookie['value']}"} | ({"Last-Event-ID": str(last)} if last else {})
        query = urlencode([("topic", topic) for topic in topics])
        self.connection.request("GET", f"/events?{query}", headers=headers)
        self.sock = self.connection.sock
        self.answer = self.connection.getresponse()
        self.start()

    def run(self):
        for line in self.answer:
            text = line.decode().rstrip("\n")
            if text.startswith("retry:"):
                self.open.set()
            if text.startswith("id: "):
                self.ids.append(int(text[4:]))
            if text.startswith("data: "):
                self.heard.append(json.loads(text[6:]))
        self.answer.close()
        self.connection.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_news_reaches_all_workers_and_only_who_may_hear_it(kind, request, tmp_path):
    database = request.getfixturevalue("one_postgres") if kind == "postgresql" else None
    if database:
        emptied(database)
    served = start_live(tmp_path, "--workers", "2", database=database, forked=False)
    try:
        _news(served)
    finally:
        served.process.kill()
        served.process.wait(timeout=LONG)
        served.engine.dispose()


def _news(served):
    boss, ann = served.cookie("boss", "organiser"), served.cookie("ann", "annotator")
    streams = [Stream(served, boss, ["organiser/all", "work/一"]) for _ in range(4)]
    other = Stream(served, ann, ["work/一"])
    refused = Stream(served, ann, ["organiser/all"])
    assert refused.answer.status == 403
    for stream in [*streams, other]:
        assert stream.answer.status == 200
        assert stream.open.wait(LONG)
    for number in range(5):
        with write_transaction(served.engine) as connection:
            live_events.publish_event(connection, "work/一", {"done": number, "谁": "安"})
            live_events.publish_event(connection, "organiser/all", number)
    until(lambda: all(len(stream.heard) == 10 for stream in streams) and len(other.heard) == 5)
    assert [event["payload"]["done"] for event in other.heard] == [0, 1, 2, 3, 4]
    with served.engine.connect() as connection:
        live_events.publish_event(connection, "work/一", "undone")
        connection.rollback()
    again = Stream(served, ann, ["work/一"], last=other.ids[2])
    until(lambda: len(again.heard) == 2)
    assert [event["payload"]["done"] for event in again.heard] == [3, 4]
    assert len(other.heard) == 5, "what was undone is no news"
    served.process.terminate()
    for stream in [*streams, other, again, refused]:
        stream.join(timeout=LONG)
        assert not stream.is_alive(), "an open stream does not hold up the stop"
    assert served.process.wait(timeout=LONG) in {0, -15}


def test_old_news_is_dropped_and_numbers_go_on(app):
    with write_transaction(app.state.engine) as connection:
        connection.execute(live_events.events.insert().values(topic="public/x", payload="1", at=1.0))
        for _ in range(live_events.OVERLAP):
            live_events.publish_event(connection, "public/x", 2)
    with read_transaction(app.state.engine) as connection:
        kept = live_events.events_since(connection, 0)
    assert {event.payload for event in kept} == {2}
    assert min(event.id for event in kept) == 2
