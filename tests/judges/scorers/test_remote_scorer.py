"""A score model behind a server of its own: a real process, judged by through the commands a user types."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from fullbench.core.ballot import Number
from fullbench.ledger.ledger import Ledger
from tests.judges.scorers.making import case, encoded, texture
from tests.support.commands import write_rows
from tests.support.wait_until import until

BRIGHT = "def bright(prompt, image):\n    return len(prompt) - image.convert('L').resize((1, 1)).getpixel((0, 0))\n"
PROMPTS = {"p0": "a lake", "p1": "一只红猫", "p2": "three apples"}


@pytest.fixture
def server(tmp_path):
    """`fullbench serve-scores` with a function of the folder's own, on a free port; gives its address."""
    (tmp_path / "remote_bright.py").write_text(BRIGHT)
    words = [sys.executable, "-m", "fullbench", "serve-scores", "scorer:remote_bright:bright", "--port", "0"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        line = process.stderr.readline()
        assert "serves scores at http://127.0.0.1:" in line, line + process.stderr.read()
        yield line.split("serves scores at ")[1].split(";")[0]
        process.terminate()
        process.wait(timeout=60)


def pictures(folder) -> None:
    write_rows(folder / "items.jsonl", [{"id": item, "question": words} for item, words in PROMPTS.items()])
    rows = []
    for place, item in enumerate(PROMPTS):
        for name in ("one", "two", "three"):
            file = folder / f"{item}-{name}.png"
            file.write_bytes(encoded(texture(hash((place, name)) % 1000)))
            rows.append({"item": item, "contestant": name, "images": [file.name]})
    write_rows(folder / "responses.jsonl", rows)


def test_scores_through_a_server_are_those_of_the_model_itself(cli, tmp_path, server):
    pictures(tmp_path)
    near, far = "scorer:remote_bright:bright", f"scores:{server}?batch=2"
    judged = ("judge", "--items", "items.jsonl", "--responses", "responses.jsonl", "--ballot", "number", "--quiet")
    code, _, err = cli(*judged, "--judge", near, "--judge", far)
    assert code == 0, err
    marks: dict[str, dict] = {}
    with Ledger(tmp_path / "fullbench.ledger") as ledger:
        for verdict in ledger.verdicts():
            marks.setdefault(verdict.judge.split(":")[0], {})[verdict.case] = verdict.marks
        names = {verdict.judge for verdict in ledger.verdicts()}
    assert len(marks["scores"]) == 9
    assert marks["scores"] == marks["remote_bright"]
    assert min(mark for (mark,) in marks["scores"].values()) < 0, "numbers below zero come through"
    assert any(name.startswith("scores:remote_bright:bright") and server.split("//")[1] in name for name in names)
    code, _, err = cli(*judged, "--judge", far)
    assert "Called 0, reused 9" in err


def test_a_broken_picture_is_abstained_with_the_servers_reason_and_the_rest_are_scored(server):
    from fullbench.core.picture import Picture
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from tests.judges.scorers.making import picture

    good, whole = picture(texture(1)), encoded(texture(2))
    short = Picture.from_any_bytes(whole[: len(whole) // 2], whole[: len(whole) // 2])
    judge = judge_contestant_and_benchmark_specs.judge_from_spec(f"scores:{server}?label=bright")
    first, second = judge.judge([case(good, ballot=Number()), case(short, ballot=Number(), item="j")])
    assert judge.name.startswith("bright#")
    assert first.marks is not None
    assert second.fault == "abstained"
    assert "picture" in second.text


def test_a_score_server_has_a_token_metrics_and_a_limit(tmp_path, monkeypatch):
    from fullbench.errors import InputError, ModelError
    from fullbench.judges.scorers import remote_scorer
    from fullbench.judges.scorers.scorer_server import ScoreServer
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from tests.judges.scorers.making import picture

    monkeypatch.setattr(remote_scorer, "_WAITS", (0.01,))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dim.py").write_text(BRIGHT.replace("bright", "dim"))
    model = judge_contestant_and_benchmark_specs.judge_from_spec("scorer:dim:dim")
    row = {"prompts": ["a"], "pictures": [base64.b64encode(picture(texture(1)).data()).decode()]}

    def answer(path, body=None, token="geheim"):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(f"{server.url}{path}", data, headers)) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.loads(refused.read())["error"]

    with ScoreServer(model, "127.0.0.1", 0, token="geheim", most_in_flight=0) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        for path, body in (("/", None), ("/metrics", None), ("/scores", row)):
            for wrong in ("", "other"):
                status, why = answer(path, body, wrong)
                assert status == 401, path
                assert "this server needs its token" in why
        with pytest.raises(ModelError, match="needs its token"):
            judge_contestant_and_benchmark_specs.judge_from_spec(f"scores:{server.url}")
        with pytest.raises(InputError, match=r"'TOKEN_OF_DIM' with the token of http.* is not set"):
            judge_contestant_and_benchmark_specs.judge_from_spec(f"scores:{server.url}?key_env=TOKEN_OF_DIM")
        monkeypatch.setenv("TOKEN_OF_DIM", "geheim")
        far = judge_contestant_and_benchmark_specs.judge_from_spec(f"scores:{server.url}?key_env=TOKEN_OF_DIM")
        cases = [case(picture(texture(seed)), ballot=Number(), item=f"i{seed}") for seed in range(3)]
        assert [one.marks for one in far.judge(cases)] == [one.marks for one in model.judge(cases)]
        assert "geheim" not in json.dumps([far.name, dict(far.settings)])
        assert answer("/scores", [1]) == (400, "a request is an object with 'prompts' and 'pictures'")
        metrics = answer("/metrics")[1]
        assert "fullbench_score_scores_total 3\n" in metrics
        assert "fullbench_score_pictures_in_flight 0\n" in metrics
        with server._turn:  # the model is busy
            first = threading.Thread(target=answer, args=("/scores", row))
            first.start()
            until(lambda: server.in_flight == 1)
            assert answer("/scores", row) == (503, "1 are on their way; try again")
        first.join()
        assert answer("/scores", row)[0] == 200
        server.shutdown()


def test_what_is_no_score_server_is_said_in_a_sentence(cli, tmp_path, monkeypatch):
    from fullbench.judges.scorers import remote_scorer

    monkeypatch.setattr(remote_scorer, "_WAITS", (0.01,))
    pictures(tmp_path)
    judged = ("judge", "--items", "items.jsonl", "--responses", "responses.jsonl", "--ballot", "number", "--judge")

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"models": []}).encode())

        def log_message(self, *_) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{other.server_address[1]}"
        code, _, err = cli(*judged, f"scores:{address}")
        other.shutdown()
    assert code == 2
    assert "is not a score server of protocol 1" in err
    code, _, err = cli(*judged, f"scores:{address}")
    assert code == 2
    assert "does not answer" in err
    code, _, err = cli(*judged, "scores:hpsv3")
    assert code == 2
    assert "named by its address" in err
