"""What whoever runs the site sees, and what travels."""

from __future__ import annotations

import gzip

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
