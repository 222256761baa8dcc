"""Files too large for a request: uploaded once, used when the server has processed them, and again when deleted."""

from __future__ import annotations

import base64
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from fullbench import Media, Prompt, Turn, Video
from fullbench.core.model import Reply
from fullbench.errors import ModelError
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects import Gemini
from fullbench.models.dialects import gemini as gemini_dialect
from fullbench.models.model_settings import Key, Limits, Sampling
from tests.support.gemini_files_server import GeminiFilesServer
from tests.support.media_files import empty_mp4, wav_bytes

LIMITS = Limits(backoff=0.01, attempts=6, patience=20.0)
CLIP = Media.from_bytes(empty_mp4(50_000))


@pytest.fixture(autouse=True)
def small_requests(monkeypatch) -> None:
    """Without files above 20 MB: a request here takes 20 kB."""
    monkeypatch.setattr(gemini_dialect, "LARGEST_INLINE", 14_000)
    monkeypatch.setenv("KEY", "k")


def model(server: GeminiFilesServer, name: str = "gemini-flash", **sampling) -> ChatModel:
    settings = {"sampling": Sampling(**sampling), "limits": LIMITS}
    return ChatModel(name, server.url, Gemini(), Key(("KEY",)), listed_price=(1.0, 1.0), **settings)


def ask(chat: ChatModel, *prompts: tuple) -> list[Reply]:
    return list(chat.answer(chat.prepare(Prompt((Turn("user", parts),))) for parts in prompts))


def test_a_large_clip_is_uploaded_once_for_all_judges_and_calls():
    with GeminiFilesServer(largest_request=20_000) as server:
        models = [model(server, "one", start=1.0, fps=2.0), model(server, "two")]
        small = Media.from_bytes(wav_bytes())
        prompts = [(CLIP, small, f"What happens? {number}") for number in range(6)]
        with ThreadPoolExecutor(2) as threads:
            replies = [reply for found in threads.map(lambda chat: ask(chat, *prompts), models) for reply in found]
        assert [(reply.text, reply.error) for reply in replies] == [("[[4]]", None)] * 12
        assert server.uploads == [CLIP.digest]
        assert sum(path.endswith("/upload/v1beta/files") for _, path in server.calls) == 1
        for body in server.bodies:
            clip, recording, _ = body["contents"][0]["parts"]
            assert clip["fileData"] == {
                "mimeType": "video/mp4", "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/0-abc",
            }  # fmt: skip
            assert base64.b64decode(recording["inlineData"]["data"]) == small.data()
        metadata = {json.dumps(body["contents"][0]["parts"][0].get("videoMetadata")) for body in server.bodies}
        assert metadata == {'{"fps": 2.0, "startOffset": "1s"}', "null"}
        assert ask(models[0], *prompts)[0].text == "[[4]]"
        assert len(server.uploads) == 1


def test_so_many_files_are_uploaded_that_the_others_fit():
    sizes = (3_000, 9_000, 4_000, 6_000, 9_000)
    clips = [Media.from_bytes(empty_mp4(size) + b"\0\0\0\x09free%d" % place) for place, size in enumerate(sizes)]
    with GeminiFilesServer(largest_request=20_000) as server:
        (reply,) = ask(model(server), (*clips, "Which?"))
        assert reply.text == "[[4]]"
        (body,) = server.bodies
        sent = ["upload" if "fileData" in part else "inline" for part in body["contents"][0]["parts"][:-1]]
        assert sent == ["inline", "upload", "inline", "inline", "upload"]


def test_faults_of_an_upload_are_retried_and_the_call_is_billed_once():
    with GeminiFilesServer(largest_request=20_000) as server:
        server.faults.update(start=[503], upload=[0, 500], look=[502], call=[503])
        (reply,) = ask(model(server), (CLIP, "What happens?"))
    assert (reply.text, reply.error) == ("[[4]]", None)
    assert (reply.usage.calls, reply.usage.retries) == (1, 5)
    assert reply.usage.dollars == pytest.approx(105 / 1e6)
    assert server.uploads == [CLIP.digest], "after the failed look it is looked at again, not uploaded again"


def test_a_file_that_the_server_has_deleted_is_uploaded_again():
    with GeminiFilesServer(largest_request=20_000) as server:
        chat = model(server)
        assert ask(chat, (CLIP, "1"))[0].text == "[[4]]"
        server.delete_files()
        (reply,) = ask(chat, (CLIP, "2"))
        assert (reply.text, reply.usage.retries) == ("[[4]]", 1)
        assert server.uploads == [CLIP.digest] * 2
        assert ask(chat, (CLIP, "3"))[0].usage.retries == 0


def test_a_file_is_uploaded_again_before_it_expires():
    with GeminiFilesServer(largest_request=20_000, expires_after=timedelta(minutes=9)) as server:
        chat = model(server)
        replies = [ask(chat, (CLIP, number))[0] for number in "12"]
        assert [reply.usage.retries for reply in replies] == [0, 0]
        assert server.uploads == [CLIP.digest] * 2


def test_a_file_that_cannot_be_processed_fails_for_good_and_the_others_go_on():
    other = Media.from_bytes(empty_mp4(60_000))
    with GeminiFilesServer(largest_request=20_000, broken=frozenset({CLIP.digest})) as server:
        replies = ask(model(server), (CLIP, "1"), (other, "2"))
    by_text = {reply.prompt.turns[0].parts[-1]: reply for reply in replies}
    assert by_text["2"].text == "[[4]]"
    assert (by_text["1"].failure, by_text["1"].usage.calls) == ("permanent", 0)
    assert by_text["1"].error == (
        f"the video {CLIP.digest[:12]} cannot be processed by the server: no video stream; cut it, or send frames with "
        "video=frames"
    )


def test_a_server_without_the_files_api_is_named():
    with GeminiFilesServer(has_files_api=False) as server:
        (reply,) = ask(model(server), (CLIP, "1"))
    assert reply.failure == "permanent"
    assert "is too large for a request, and the server has no Files API (404: Not Found); cut it" in str(reply.error)


def test_a_refused_key_ends_the_run_at_the_upload():
    with GeminiFilesServer(key="other") as server, pytest.raises(ModelError, match="refused the key"):
        ask(model(server), (CLIP, "1"))
    assert server.bodies == []


def test_a_file_that_is_never_ready_is_a_passing_failure():
    with GeminiFilesServer(processing_looks=10_000) as server:
        chat = model(server)
        chat = replace(chat, limits=replace(LIMITS, patience=0.3, attempts=2))
        start = time.monotonic()
        (reply,) = ask(chat, (CLIP, "1"))
    assert time.monotonic() - start < 20
    assert reply.failure == "passing"
    assert "has not processed the video after 0.3 s" in str(reply.error)


def test_an_upload_url_elsewhere_gets_no_key_and_no_file():
    with GeminiFilesServer() as server, GeminiFilesServer() as elsewhere:
        server.address = elsewhere.address
        (reply,) = ask(model(server), (CLIP, "1"))
        assert "the server named no place of its own for the file" in str(reply.error)
        assert elsewhere.calls == []


def test_a_file_above_2_gib_is_refused_before_it_is_sent(tmp_path):
    file = tmp_path / "film.mp4"
    file.write_bytes(empty_mp4())
    with file.open("r+b") as out:
        out.truncate(int(2.5 * 2**30))
    film = Video("0" * 64, "video/mp4", file)
    with GeminiFilesServer() as server:
        (reply,) = ask(model(server), (film, "1"))
        assert server.calls == []
    assert reply.failure == "permanent"
    assert "has 2.5 GiB, and the Files API takes 2; cut it, or send frames with video=frames" in str(reply.error)
