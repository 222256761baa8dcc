"""What servers say when they will not, sorted. The bodies have the shape that each server documents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench.models.net.error_meanings import classify_complaint, read_complaint, retry_after

SAID = [
    (429, {"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}, "busy"),
    (429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}, "model"),
    (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "busy"),
    (503, {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}, "busy"),
    (500, {"error": {"message": "The server had an error"}}, "again"),
    (408, None, "again"),
    (401, {"error": {"message": "Incorrect API key provided"}}, "model"),
    (402, {"error": {"message": "Insufficient credits", "code": 402}}, "model"),
    (403, {"type": "error", "error": {"type": "permission_error", "message": "no"}}, "model"),
    (403, {"error": {"code": 403, "message": "input was flagged", "metadata": {"reasons": ["violence"]}}}, "refused"),
    (404, {"error": "model 'x' not found, try pulling it first"}, "model"),
    (400, {"error": {"message": "too long", "code": "context_length_exceeded", "param": "messages"}}, "prompt"),
    (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens"}, "prompt"),
    (400, {"type": "error", "error": {"message": "messages.0.content.1.image.source: too big"}}, "prompt"),
    (400, {"type": "error", "error": {"message": "Your credit balance is too low to access"}}, "model"),
    (400, {"error": {"message": "flagged", "code": "content_policy_violation"}}, "refused"),
    (400, {"error": {"code": "content_filter", "message": "the response was filtered"}}, "refused"),
    (400, {"error": {"message": "Unsupported parameter: 'max_tokens'", "code": "unsupported_parameter"}}, "model"),
    (400, [{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}], "model"),
    (400, {"object": "error", "message": "x is not a multimodal model", "type": "BadRequestError"}, "model"),
    (500, {"error": {"code": 500, "message": "image input is not supported - hint: mmproj"}}, "model"),
    (422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}, "unclear"),
    (413, None, "prompt"),
    (302, None, "again"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind"), SAID)
def test_sorted(status, body, kind):
    assert classify_complaint(status, read_complaint(body, b"words")) == kind


LEAF = st.none() | st.booleans() | st.integers() | st.text()
JSON = st.recursive(LEAF, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@given(st.integers(300, 599), JSON | JSON.map(lambda inner: {"error": inner}))
def test_any_body_can_be_read_and_sorted(status, body):
    complaint = read_complaint(body, b"\xff")
    assert complaint.message
    assert len(complaint.message) <= 300
    assert classify_complaint(status, complaint) in {"again", "busy", "refused", "prompt", "unclear", "model"}


def test_the_wait_is_read_from_wherever_it_stands():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert retry_after({"Retry-After": later}) == pytest.approx(100, abs=5)
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    assert retry_after({"retry-after": "3", "retry-after-ms": "1500"}) == 1.5
    assert retry_after({"retry-after": "soon"}) is None
    details = [{"@type": "x"}, {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "20s"}]
    assert read_complaint({"error": {"message": "m", "details": details}}).wait == 20
