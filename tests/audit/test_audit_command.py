"""The audit command: on a fresh machine, against a server, killed and resumed, forecast and published."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fullbench import Ledger
from fullbench.audit.audit_run import circumstances_by_case
from fullbench.audit.cases.attacks import all_attacks
from fullbench.audit.cases.build_audit_cases import SIZES, audit_cases
from fullbench.audit.cases.synthetic_items import draw_pictures, draw_question
from fullbench.cli.all_commands import app
from fullbench.core.item import Turn
from fullbench.core.model import Prompt
from fullbench.core.picture import Picture
from fullbench.core.translatable_note import Note
from fullbench.reports.translated_tables import localise_table
from fullbench.reports.words import language_messages
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.run.judge_cases import judge_cases
from tests.support.colour_server import TinyServer
from tests.support.fake_chat_server import FakeServer
from tests.support.forked_command import ForkedCommand
from tests.support.wait_until import until


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words: object, code: int = 0) -> str:
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == code, done.output
        return done.output

    return run


def test_an_audit_on_a_fresh_machine(call, tmp_path):
    said = call("audit", "simulated:blind", "--quick", "--quiet", "--out", "card.html")
    assert "There is no sign that it uses the picture" in said
    page = (tmp_path / "card.html").read_text(encoding="utf-8")
    for section in ("Picture use", "Knows", "Steady", "Biases", "Fooled"):
        assert f">{section}</h2>" in page
    assert "data:image/webp" in page  # blind verdicts are shown with their pictures
    again = call("audit", "simulated:blind", "--quick", "--quiet", "--json")
    card = json.loads(again[again.index("{") : again.rindex("}") + 1])
    assert card["measures"]["picture_use"] == "no"
    assert "Called 0, reused" in again
    assert card["measures"]["verdicts"] == card["measures"]["cases"]
    # the same figure from the ledger's verdicts, by hand
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        assert ledger.studies() == ["audit-quick-0"]
        record = ledger.record(study="audit-quick-0")
    marks: dict[str, dict[str, float]] = {}
    for verdict in record:
        tags = record.items[verdict.item].tags
        mark = dict(zip(verdict.contestants, verdict.marks, strict=True)).get("right")
        if tags["part"] == "pairs" and verdict.trial == 0 and verdict.criterion == "correctness":
            order = [
                one.contestant
                for one in (record.responses[(verdict.item, *shown)] for shown in verdict.shown_responses)
            ]
            marks.setdefault(tags["base"], {}).setdefault(f"plain {order[0]}", mark)
        elif tags.get("what") == "swapped":
            marks.setdefault(tags["base"], {})["swapped"] = (mark, verdict.contestants[0])
    values = []
    for by_way in marks.values():
        if "swapped" in by_way:
            swapped, first = by_way["swapped"]
            values.append(by_way[f"plain {first}"] - swapped)
    assert card["measures"]["picture_use_index"]["value"] == pytest.approx(sum(values) / len(values))


def test_several_judges_side_by_side_and_the_board_of_all(call, tmp_path):
    words = ("audit", "simulated:accurate", "simulated:obedient", "--quick", "--quiet")
    assert "Audited judges" in call(*words)
    assert "Cards compared" in call(*words, "--all")
    call(*words, "--out", "both.html")
    page = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert all(f"Picture use by kind of question (simulated/{judge})" in page for judge in ("accurate", "obedient"))
    call("audit", "simulated:accurate", "--quick", "--quiet", "--out", "badge.svg")
    assert (tmp_path / "badge.svg").read_text(encoding="utf-8").startswith("<svg")
    board = json.loads(call("audit", "--json"))
    assert [table["name"] for table in board] == ["audited"]
    assert len(board[0]["rows"]) == 2
    call("audit", "--out", "board.md")
    assert "obedient" in (tmp_path / "board.md").read_text(encoding="utf-8")


def test_a_forecast_asks_nothing_and_leaves_nothing(call, tmp_path):
    spec = "openai:gpt-4o?key_env=NOBODY&mode=direct"
    plan = json.loads(call("audit", spec, "--quick", "--dry-run", "--json"))
    row = dict(zip(plan[0]["columns"], plan[0]["rows"][0], strict=True))
    assert 140 <= row["calls"] <= 190
    assert row["dollars"] > 0
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_is_refused_in_one_sentence(call, tmp_path):
    # errors leave by main(), which the runner does not call: what was raised says it
    for words, sentence in (
        (("audit", "simulated:accurate", "--quick", "--deep"), "--quick and --deep exclude each other"),
        (("audit", "simulated:accurate", "--out", "card.pdf"), "not as '.pdf'"),
        (("audit", "nobody:x", "--quick"), "there is no judge or model 'nobody'"),
        (("audit",), "contains no audit"),
    ):
        done = CliRunner().invoke(app, list(words))
        assert done.exception is not None
        assert sentence in str(done.exception)
    assert list(tmp_path.iterdir()) == []


def start(folder: Path, server: FakeServer) -> ForkedCommand:
    spec = f"vllm:m@{server.url}?mode=direct&concurrency=4"
    env = {**os.environ, "VLLM_API_KEY": "sk-not-a-key", "OPENAI_API_KEY": "sk-not-a-key"}
    return ForkedCommand(["audit", spec, "--quick", "--json"], folder=folder, environment=env)


def test_on_your_own_items_it_is_told_whether_the_judge_looks(call, tmp_path):
    """Six items with pictures; synthetic:keen reads the pixels, synthetic:blind never does."""
    rows, answers = [], []
    for number in range(14):
        known = draw_question(9, "mine", number)
        (tmp_path / f"{number}.png").write_bytes(draw_pictures(known.scene, known.name)[-1])
        rows.append({"id": f"i{number}", "question": known.question, "images": [f"{number}.png"]})
        answers += [{"item": f"i{number}", "contestant": name, "text": text}
                    for name, text in (("a", known.right), ("b", known.wrong))]  # fmt: skip
    for name, lines in (("items", rows), ("answers", answers)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    words = ("--items", "items.jsonl", "--responses", "answers.jsonl", "--picture-use-only", "--quiet")
    tried = call("audit", "synthetic:keen", *words, "--limit", "5")
    assert "Only the first 5 of 14 items are in this run, as the limit says." in tried
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        first = list(ledger.verdicts())
    assert {verdict.item.partition("~")[0] for verdict in first} == {f"i{number}" for number in range(5)}
    said = call("audit", "synthetic:keen", *words)
    assert f"reused {len(first)}" in said, "the same command goes on, and nothing is asked twice"
    assert "It uses your pictures" in said
    again = call("audit", "synthetic:blind", *words, "--json")
    card = json.loads(again[again.index("{") : again.rindex("}") + 1])
    assert card["measures"]["picture_use"] == "no sign"
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        record = ledger.record(study="picture-use-items")
    # by hand: the share of blank pictures on which a ruling moved, for the judge that looks
    keen = [verdict for verdict in record if "keen" in verdict.judge and verdict.marks]
    ruled = {(v.item, v.trial): dict(zip(v.contestants, v.marks, strict=True)) for v in keen}
    moved = [ruled[f"{item}~blank", 0] != marks for (item, trial), marks in ruled.items()
             if not trial and (f"{item}~blank", 0) in ruled]  # fmt: skip
    assert f"{sum(moved) / len(moved):.2f}" in said[said.index("blank") : said.index("blank") + 40]


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_where_it_was(tmp_path):
    """A server that always chooses the first: kill -9 after forty answers, and the next run asks for the rest alone."""

    def kept() -> int:
        if not (tmp_path / "fullbench.ledger").exists():
            return 0
        with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
            return len(list(ledger.verdicts()))

    with FakeServer(says="[[A]]", answers=40) as server:
        process = start(tmp_path, server)
        until(lambda: kept() >= 30)
        process.kill()
        process.communicate()
        before = kept()
        server.more()
        done = start(tmp_path, server)
        out, err = done.communicate(timeout=240)
        assert done.returncode == 0, err
    measures = json.loads(out)["measures"]
    assert measures["verdicts"] == measures["cases"] > before >= 30
    assert f"reused {before}" in err
    # whoever always rules for the first place is swayed by place, and does not look
    assert measures["biases"]["place"]["flagged"]
    assert measures["picture_use"] == "no"
    assert measures["served"]


def served(_words: str, _pictures: list[bytes], body: dict[str, Any]) -> str:
    """The model `synthetic:keen`, which reads pixels, as a server is asked: by messages with pictures in base64."""
    turns = []
    for message in body["messages"]:
        parts = message["content"] if isinstance(message["content"], list) else [{"text": message["content"]}]
        turns.append(
            Turn(
                message["role"],
                tuple(
                    part["text"] if "text" in part
                    else Picture.from_bytes(base64.b64decode(part["image_url"]["url"].split(",", 1)[1]), name="shown")
                    for part in parts
                ),
            )
        )  # fmt: skip
    (reply,) = judge_contestant_and_benchmark_specs.contestant_from_spec("synthetic:keen").answer(
        [Prompt(tuple(turns))]
    )
    return reply.text


@pytest.mark.slow
def test_a_small_model_that_looks_is_audited_behind_a_local_server(call, tmp_path, monkeypatch):
    """No key and no network: over HTTP it is found to see, as it is where it is asked directly."""
    monkeypatch.setenv("VLLM_API_KEY", "")
    with TinyServer(served, models=("keen",)) as server:
        said = call("audit", f"vllm:keen@{server.url}", "--quick", "--quiet", "--json", "--anyway")
    over_http = json.JSONDecoder().raw_decode(said[said.index("{") :])[0]["measures"]
    said = call("audit", "synthetic:keen", "--quick", "--quiet", "--json", "--ledger", "here.ledger")
    directly = json.JSONDecoder().raw_decode(said[said.index("{") :])[0]["measures"]
    assert over_http["picture_use"] == directly["picture_use"] == "yes"
    assert over_http["served"] == ["keen"]
    assert over_http["accuracy"]["value"] == pytest.approx(directly["accuracy"]["value"], abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "least", "most"), [((), 900, 1_100), (("--deep",), 2_700, 3_500)])
def test_usual_and_deep_audits_come_to_a_whole_card(call, tmp_path, size, least, most):
    """Planted: length by 1 log-odds a strength, and half of the attacks obeyed. Both are found and nothing else is."""
    said = call("audit", "simulated:long-words?obeys=0.5", *size, "--quiet", "--json")
    measures = json.JSONDecoder().raw_decode(said[said.index("{") :])[0]["measures"]
    assert least <= measures["cases"] == measures["verdicts"] <= most
    assert measures["unusable"] == measures["reading_misled"] == 0
    assert measures["picture_use"] == "yes"
    length = measures["biases"]["length"]
    # An interval of 95 % misses in one of twenty runs, and the deep one here does: half as wide again for it. How often
    # intervals cover is asserted in test_figures.
    assert abs(length["value"] - 1.0) <= (1.5 if size else 1.0) * (length["high"] - length["low"]) / 2
    assert measures["attack_rate"]["low"] <= 0.5 <= measures["attack_rate"]["high"]
    assert measures["attacks"] == (100 if not size else len(all_attacks()))


@pytest.mark.slow
def test_an_audited_call_takes_no_more_cpu_than_another(tmp_path, monkeypatch):
    """The same cases, heard as an audit's and as any study's; the best of three, since others use this machine too."""
    monkeypatch.setenv("VLLM_API_KEY", "sk-not-a-key")
    cases = list(audit_cases(SIZES["default"], 0))
    took: dict[str, list[float]] = {"plain": [], "audited": []}
    with FakeServer(says="[[A]]") as server:
        for turn in range(3):
            for name, marked in (("plain", {}), ("audited", circumstances_by_case(cases))):
                judge = judge_contestant_and_benchmark_specs.judge_from_spec(
                    f"vllm:{name}{turn}@{server.url}?mode=direct"
                )
                with Ledger(tmp_path / f"{name}{turn}.ledger", study="s") as ledger:
                    start = time.process_time()
                    judge_cases([judge], lambda _: cases, ledger, circumstances_by_case=marked)
                    ledger.flush()
                    took[name].append(time.process_time() - start)
    assert min(took["audited"]) <= 1.15 * min(took["plain"])


def test_a_card_speaks_chinese(call, tmp_path):
    from fullbench.audit.audit_run import AuditRun

    call("audit", "simulated:long-words?length=3", "--quick", "--quiet")
    auditing = AuditRun(["simulated:long-words?length=3"], size="quick")
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        record = ledger.record(study="audit-quick-0").in_canonical_order()
    card = auditing.card(record, auditing.judges[0].name)
    assert isinstance(card.lead, Note)
    chinese = card.lead.translate_with(language_messages("zh"))
    assert "看图" in chinese
    assert "picture use" not in chinese
    for table in card.tables:
        if table.name in {"bias", "picture variants", "picture use", "fooled", "knowledge"}:
            assert any("\u4e00" <= letter <= "\u9fff" for letter in localise_table(table, "zh").title)
