"""Metrics, HEAD requests and compression."""

from __future__ import annotations

import gzip
import logging
import re

from tests.web.conftest import Visitor


def test_head_is_get_without_its_body(client):
    whole, bare = client.get("/login"), client.head("/login")
    assert (whole.status_code, bare.status_code) == (200, 200)
    assert whole.text
    assert not bare.text
    assert bare.headers["content-security-policy"] == whole.headers["content-security-policy"]
    assert client.head("/nowhere").status_code == 404


def raw(visitor: Visitor, path: str) -> tuple[str, bytes]:
    with visitor.stream("GET", path, headers={"Accept-Encoding": "gzip"}) as answer:
        return answer.headers.get("content-encoding", ""), b"".join(answer.iter_raw())


def test_pages_are_packed_for_visitors_and_not_for_people_who_are_signed_in(client, annotator):
    packing, body = raw(client, "/login")
    assert packing == "gzip"
    assert b"<!doctype html>" in gzip.decompress(body)
    assert raw(annotator, "/work")[0] == ""
    assert raw(client, "/static/app.css")[0] == "gzip"


def test_metrics_count_requests_and_are_for_organisers(client, organiser, annotator):
    assert client.get("/metrics").status_code == 404
    assert annotator.get("/metrics").status_code == 404
    assert organiser.get("/nowhere").status_code == 404
    lines = organiser.get("/metrics").text.splitlines()
    (missing,) = [line for line in lines if line.startswith('fullbench_requests_total{method="GET",status="404"}')]
    assert float(missing.split()[-1]) >= 3
    assert any(line.startswith("fullbench_request_seconds_count") for line in lines)


def test_a_log_of_requests_has_no_secret_of_a_link_and_one_line_for_each(client, organiser, caplog):
    """Invitations, links for many people and links back are doors: who reads the log must not be able to open them."""
    made = organiser.submit("/people/invite", {"role": "annotator"}).text
    invitation = re.search(r"/join/([\w-]+)", made)[1]
    with caplog.at_level(logging.INFO, "fullbench.web.access"):
        client.get(f"/join/{invitation}")
        client.get("/take/4f0c4f0c4f0c4f0c/s3cret-of-a-group?PROLIFIC_PID=w-7")
        client.get("/back/s3cret-of-somebody/")
        client.get("/nowhere%0A2026-01-01 00:00:00 INFO GET /forged 200")
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split()[1] for line in lines[:3]] == ["/join/…", "/take/4f0c4f0c4f0c4f0c/…", "/back/…"]
    assert invitation not in "".join(lines)
    assert "s3cret" not in "".join(lines)
    assert all("\n" not in line for line in lines)
    assert "/nowhere\\x0a2026" in lines[3]
