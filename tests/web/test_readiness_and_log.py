"""Operators over HTTP: readiness, the log, clients that disconnect."""

from __future__ import annotations

import json
import re
import signal
import socket
import urllib.request
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest

from fullbench.ledger.ledger import Ledger
from fullbench.web.app import create_app
from fullbench.web.database import engine_for, read_transaction, upgrade_schema
from fullbench.web.results.catalogue import catalogue_board_and_page_updater, fill_catalogue
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.wait_until import until
from tests.web.conftest import Visitor, start_live
from tests.web.results import making


def asked(url: str) -> tuple[int, dict]:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def stop(live) -> None:
    live.process.terminate()
    live.process.wait(timeout=120)
    live.engine.dispose()


def test_it_is_not_ready_before_the_ledger_is_read_in_and_says_how_far_it_is(tmp_path):
    path = making.fill(tmp_path / "small.ledger", count=2)
    url = f"sqlite:///{tmp_path / 'web.sqlite'}"
    app = create_app(Settings(url, str(path), tmp_path, public=True))
    visitor = Visitor(app)  # its updater does not run: the test reads in as much as it wants
    with Ledger(path, read_only=True) as ledger:
        before = visitor.get("/ready")
        assert (before.status_code, before.json()["percent"]) == (503, 0)
        fill_catalogue.fill_from_ledger(app.state.engine, ledger, batch=20, max_verdicts=40)
        halfway = visitor.get("/ready")
        assert halfway.status_code == 503
        total = len(list(ledger.verdicts_since(0, 10_000)))
        assert halfway.json()["percent"] == 100 * 40 // total
        assert f"({halfway.json()['percent']} % so far)" in visitor.get("/").text
        assert visitor.get("/health").status_code == 200
        catalogue_board_and_page_updater.update_catalogue(app.state.engine, ledger)
    assert visitor.get("/ready").json() == {"status": "ok", "read_in": total, "of": total, "percent": 100}
    assert "so far" not in visitor.get("/").text
    with Ledger(path) as ledger:
        case, ruled = next(making.verdicts(seed=9, count=1))
        ledger.add(*(type(one).from_case(case, "late", one.marks or "refused") for one in ruled[:1]))
    late = visitor.get("/ready")
    assert late.status_code == 200, "more verdicts do not take the site away from its visitors"
    assert late.json()["read_in"] < late.json()["of"]
    app.state.engine.dispose()


def test_a_server_that_is_killed_while_it_reads_in_goes_on_where_it_was(tmp_path):
    path = making.fill(tmp_path / "small.ledger", count=4)
    url = f"sqlite:///{tmp_path / 'web.sqlite'}"
    engine = engine_for(url)
    upgrade_schema(engine)
    with Ledger(path, read_only=True) as ledger:
        fill_catalogue.fill_from_ledger(engine, ledger, batch=20, max_verdicts=20)
        total = len(list(ledger.verdicts_since(0, 10_000)))
    with read_transaction(engine) as connection:
        early = verdict_list.find_verdicts(connection, Filter(), size=5).lines
    live = start_live(tmp_path, "--ledger", str(path), "--public", forked=False)
    live.process.send_signal(signal.SIGKILL)
    live.process.wait(timeout=60)
    live.engine.dispose()
    again = start_live(tmp_path, "--ledger", str(path), "--public", forked=False)
    try:
        until(lambda: asked(f"{again.url}/ready")[0] == 200)
        assert asked(f"{again.url}/ready")[1]["read_in"] == total
        with read_transaction(engine) as connection:
            assert verdict_list.count_verdicts(connection, Filter()).n == total, "each verdict once"
            assert (
                verdict_list.find_verdicts(connection, Filter(), after=early[-1].id - 1, size=5).lines[-1].id
                == early[-1].id
            )
    finally:
        stop(again)
        engine.dispose()


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logged")
    path = making.fill(folder / "small.ledger", count=1)
    live = start_live(folder, "--ledger", str(path), "--public", "--log-requests")
    yield live
    stop(live)


def metric(live, name: str) -> float:
    with urllib.request.urlopen(f"{live.url}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


def leave(live, sent: bytes) -> None:
    """A client that sends the beginning of a request and is gone at once (a reset, as a phone without a network)."""
    address = urlsplit(live.url)
    with socket.create_connection((address.hostname, address.port), timeout=60) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        line.sendall(sent)


def test_clients_that_leave_are_counted_and_leave_no_traceback(logged):
    before = metric(logged, "fullbench_clients_left_total")
    form = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 900\r\n\r\nname=a"
    body = b"POST /login HTTP/1.1\r\nHost: x\r\n" + form
    for _ in range(3):
        leave(logged, body)
        leave(logged, b"GET /verdicts HTTP/1.1\r\nHost: x\r\n\r\n")
        leave(logged, b"GET /events?topic=public/boards HTTP/1.1\r\nHost: x\r\n\r\n")
    # Clients of the other two addresses may be counted first, so the log decides when all three were noticed.
    log = logged.settings.data / "log"
    until(lambda: log.read_text().count("POST /login: the client left") == 3)
    assert metric(logged, "fullbench_clients_left_total") >= before + 3
    assert "Traceback" not in log.read_text()


def test_the_log_has_a_line_with_its_time_for_every_request(logged):
    urllib.request.urlopen(f"{logged.url}/judges?study=", timeout=60).close()
    wanted = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d INFO GET /judges 200 \d+ bytes \d+ ms$", re.MULTILINE)
    until(lambda: wanted.search((logged.settings.data / "log").read_text()) is not None)


def test_metrics_move_with_what_is_asked(logged):
    before = metric(logged, 'fullbench_requests_total{method="GET",status="404"}')
    for _ in range(2):
        with pytest.raises(HTTPError):
            urllib.request.urlopen(f"{logged.url}/nowhere", timeout=60)
    assert metric(logged, 'fullbench_requests_total{method="GET",status="404"}') == before + 2
