"""Batch services: what our services of the tests say is what the providers' own client libraries expect.

The libraries are not among our dependencies; where they are not installed, these tests say so and are skipped
(`uv pip install anthropic google-genai`).
"""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from fullbench.errors import ModelError
from fullbench.models.batch_services import batch_server
from fullbench.models.batch_services.base import BatchOrder, BatchServer, UnknownOutcome
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects import Anthropic, Dialect, Gemini, OpenAI
from fullbench.models.model_settings import Limits
from fullbench.models.wire.batch_lines import parse_batch_line, request_line
from tests.models.conftest import ask
from tests.support.batch_server import AnthropicService, BatchService, GeminiService

SERVICES: dict[type[BatchService], type[Dialect]] = {
    BatchService: OpenAI, AnthropicService: Anthropic, GeminiService: Gemini,
}  # fmt: skip
EACH = pytest.mark.parametrize("speaks", SERVICES)


def server(service: BatchService) -> BatchServer:
    return batch_server(ChatModel("judge", service.url, SERVICES[type(service)](), limits=Limits(backoff=0.001)))


def order(folder: Path, made: BatchServer, count: int = 3) -> BatchOrder:
    path = folder / "requests.jsonl"
    path.write_bytes(b"".join(request_line(made.model, f"n-{number}", ask(number, "图")) for number in range(count)))
    return BatchOrder(path, count, "t0ken")


@EACH
def test_there_and_back(tmp_path, speaks):
    with speaks() as service:
        made = server(service)
        ready = made.prepare(order(tmp_path, made))
        batch = made.create(ready)
        assert (found := made.find(ready)) is not None
        assert found.batch == batch
        assert made.fetch_status(batch).status not in {"completed", "failed"}
        standing = made.fetch_status(batch)
        assert (standing.status, standing.total, standing.completed_count, standing.failed_count) == (
            "completed",
            3,
            3,
            0,
        )
        made.fetch(standing.output or "", tmp_path / "back.jsonl")
    lines = (tmp_path / "back.jsonl").read_bytes().splitlines()
    assert {(parse_batch_line(line) or ("",))[0] for line in lines} == {"n-0", "n-1", "n-2"}


@EACH
@pytest.mark.parametrize("status", [500, 502])
def test_an_order_of_which_nothing_is_known_is_unsure_and_one_that_was_refused_is_not(tmp_path, speaks, status):
    with speaks(troubles={"create": [status, 429, "drop", 400]}) as service:
        made = server(service)
        ready = made.prepare(order(tmp_path, made))
        with pytest.raises(UnknownOutcome):
            made.create(ready)
        assert made.find(ready) is None
        with pytest.raises(UnknownOutcome):
            made.create(ready)
        assert made.find(ready) is not None
        with pytest.raises(ModelError, match="400: create hurts"):
            made.create(ready)
        assert len(service.batches) == 1


@EACH
def test_a_key_is_not_sent_where_a_server_points_to(tmp_path, speaks, monkeypatch):
    """A download that is redirected to another origin goes there without the key."""
    monkeypatch.setenv("A_KEY", "sk-one-key")
    with BatchService() as elsewhere, speaks() as service:
        elsewhere.files["there"] = b"found\n"
        service.elsewhere = f"{elsewhere.url}/files/there/content"
        from fullbench.models.model_settings import Key

        model = ChatModel("judge", service.url, SERVICES[speaks](), Key(("A_KEY",)))
        batch_server(model).fetch("files/x", tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == b"found\n"
        assert service.headers[-1] in {"sk-one-key", "Bearer sk-one-key"}
        assert not any("sk-one-key" in str(value) for value in elsewhere.all_headers)


def test_a_place_for_the_file_elsewhere_is_refused(tmp_path):
    with GeminiService() as service:
        made = server(service)
        service.url = "http://localhost:1/v1beta"
        with pytest.raises(ModelError, match="no place of its own"):
            made.prepare(order(tmp_path, made))


def test_a_redirect_to_no_http_address_is_refused(tmp_path):
    (tmp_path / "secret").write_text("a secret")
    with BatchService() as service:
        service.elsewhere = f"file://{tmp_path}/secret"
        with pytest.raises(ModelError, match=r"sends us to 'file:.*', which is no http address"):
            server(service).fetch("files/x", tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_a_server_that_keeps_silent_is_a_sentence_after_the_time_limit():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        limits = Limits(backoff=0.001, timeout=0.1, attempts=2)
        made = batch_server(ChatModel("judge", f"http://127.0.0.1:{silent.getsockname()[1]}/v1", limits=limits))
        with pytest.raises(ModelError, match=r"nothing came or went for 0\.1 s"):
            made.fetch_status("batch_0")


def test_a_large_file_goes_up_whole_and_a_refusal_before_its_end_is_read(tmp_path):
    """20 MB: more than the buffers on the way hold."""
    path = tmp_path / "requests.jsonl"
    path.write_bytes(b'{"custom_id": "1", "body": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}\n' * 300_000)
    with BatchService() as service:
        made = server(service)
        assert service.files[made.prepare(BatchOrder(path, 1, "t0ken")).file] == path.read_bytes()

    class Refuser(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(413)
            self.send_header("Content-Length", "0")
            self.end_headers()
            self.wfile.flush()
            gate.wait(20)

        def log_message(self, *rest: object) -> None:
            pass

    gate = threading.Event()
    with ThreadingHTTPServer(("127.0.0.1", 0), Refuser) as refuser:
        threading.Thread(target=refuser.serve_forever, args=(0.02,), daemon=True).start()
        made = batch_server(ChatModel("judge", f"http://127.0.0.1:{refuser.server_port}/v1", limits=Limits(attempts=1)))
        with pytest.raises(ModelError, match="413"):
            made.prepare(BatchOrder(path, 1, "t0ken"))
        gate.set()
        refuser.shutdown()


def test_anthropics_own_client_understands_our_service():
    anthropic = pytest.importorskip("anthropic")
    params = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "图"}]}
    reply = lambda body, turn: (400, "too long") if body["max_tokens"] == 8 else "[[4]]"  # noqa: E731
    with AnthropicService(reply, ends=["completed", "expired"]) as service:
        batches = anthropic.Anthropic(base_url=service.url.removesuffix("/v1"), api_key="k").messages.batches
        for _ in range(2):
            made = batches.create(requests=[
                {"custom_id": "a", "params": params}, {"custom_id": "b", "params": {**params, "max_tokens": 8}},
            ])  # fmt: skip
            while batches.retrieve(made.id).processing_status != "ended":
                pass
        kinds = {row.custom_id: row.result.type for row in batches.results("batch_0")}
        assert kinds == {"a": "succeeded", "b": "errored"}
        assert {row.custom_id: row.result.type for row in batches.results("batch_1")} == {
            "a": "succeeded",
            "b": "expired",
        }
        assert [batch.id for batch in batches.list(limit=1)] == ["batch_1", "batch_0"]
        assert batches.cancel(made.id).processing_status == "canceling"


def test_googles_own_client_understands_our_service(tmp_path):
    genai: Any = pytest.importorskip("google.genai")
    lines = [{"key": name, "request": {"contents": [{"role": "user", "parts": [{"text": name}]}]}} for name in "ab"]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with GeminiService(
        lambda body, turn: "好" if body["contents"][0]["parts"] == [{"text": "a"}] else (500, "boom")
    ) as service:
        options = {"base_url": service.url.removesuffix("/v1beta"), "api_version": "v1beta"}
        client = genai.Client(api_key="k", http_options=options)
        file = client.files.upload(file=str(tmp_path / "in.jsonl"), config={"mime_type": "application/jsonl"})
        job = client.batches.create(model="judge", src=file.name, config={"display_name": "ours"})
        assert (job.display_name, job.state.name) == ("ours", "JOB_STATE_PENDING")
        while (job := client.batches.get(name=job.name)).state.name != "JOB_STATE_SUCCEEDED":
            pass
        back = [json.loads(line) for line in client.files.download(file=job.dest.file_name).splitlines()]
        assert {row["key"]: "response" in row for row in back} == {"a": True, "b": False}
        assert [found.display_name for found in client.batches.list()] == ["ours"]
        client.batches.cancel(name=job.name)
        assert service.batches["batch_0"]["status"] == "cancelling"
