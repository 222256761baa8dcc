"""Earlier verdicts of a judge with another label are named before anybody pays again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from tests.support.commands import Done
from tests.support.fake_chat_server import FakeServer
from tests.support.forked_command import run_forked


def fullbench(folder: Path, *words: str) -> Done:
    done = run_forked(folder, *words)
    assert done.returncode == 0, done.stderr
    return done


def test_another_label_is_told_of_before_it_is_paid_for(tmp_path):
    items = [{"id": f"q{number}", "question": "多少？"} for number in range(3)]
    said = [{"item": item["id"], "contestant": who, "text": who} for item in items for who in ("one", "two")]
    for name, rows in (("items", items), ("responses", said)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with FakeServer(quick=True) as server:
        files = ("--items", "items.jsonl", "--responses", "responses.jsonl", "--ballot", "score:1-5", "--quiet")

        def judged(options: str, *more: str) -> Done:
            return fullbench(tmp_path, "judge", *files, "--judge", f"vllm:m@{server.url}?{options}", *more)

        first = judged("mode=direct")
        assert "same settings" not in first.stderr
        assert "Called 6, reused 0" in first.stderr
        other = judged("mode=analyze&label=mine", "--dry-run")
        assert "same settings" not in other.stdout, "another manner is another judge"
        planned = judged("mode=direct&label=mine", "--dry-run", "--json")
        (table,) = json.loads(planned.stdout)
        (told,) = [note for note in table["notes"] if "same settings" in note]
        words = shlex.split(told.partition("first run: ")[2])
        assert words[:3] == ["fullbench", "ledger", "alias"]
        fullbench(tmp_path, *words[1:])
        again = judged("mode=direct&label=mine")
        assert "same settings" not in again.stderr
        assert "Called 0, reused 6" in again.stderr
        third = judged("mode=direct&label=hers")
        assert "'mine' has verdicts here and the same settings as 'hers'" in third.stderr, "the name of today"
        assert "Called 6, reused 0" in third.stderr
        assert "same settings" not in judged("mode=direct&label=hers").stderr, "it has ruled itself by now"
