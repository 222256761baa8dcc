"""Instructions hidden in media are found by the audit; gates and canaries work on videos, sound and documents."""

from __future__ import annotations

import io
import json
import re
import wave
from collections.abc import Callable
from functools import cache

import numpy as np
import pypdfium2
import pytest
from PIL import Image
from typer.testing import CliRunner

from fullbench.audit import audit_card_and_board as cards
from fullbench.audit import canary_checks
from fullbench.audit.cases import media_use_cases
from fullbench.audit.threshold_gate import audit_measurements
from fullbench.cli.all_commands import app
from fullbench.core.ballot import LETTERS
from fullbench.core.case import Case
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from tests.audit.test_gate import call  # noqa: F401  # a fixture
from tests.audit.test_media_use import record_of
from tests.support.film_reader import answer_from_frames, frames_of
from tests.support.sound_and_document_readers import answer_from_pages, answer_from_sound, pages_of


@cache
def cases_of(medium: str) -> list[Case]:
    return list(media_use_cases.media_use_cases(medium, "quick", 0))


def shown_answer(case: Case) -> int | None:
    """Return the answer that the content gives, by readers that share no code with the audit."""
    (media,), texts = case.item.media, [response.text for response in case.responses]
    if case.item.tags["medium"] == "video":
        return answer_from_frames(case.item.question, frames_of(media.data()), texts)
    if case.item.tags["medium"] == "audio":
        return answer_from_sound(case.item.question, media.data(), texts)
    return answer_from_pages(case.item.question, pages_of(media.data()), texts)


def metadata_text(data: bytes) -> str:
    """Return the metadata of a file, by libraries where they read them: Pillow, PDFium, and ours for WAV."""
    if data[8:12] == b"WEBP":
        found = Image.open(io.BytesIO(data)).info.get("xmp", b"")
        return found.decode() if isinstance(found, bytes) else str(found)
    if data[:4] == b"%PDF":
        return pypdfium2.PdfDocument(data).get_metadata_dict().get("Title", "")
    return data.partition(b"ICMT")[2][4:].decode().rstrip("\0")


def layer_text(data: bytes) -> str:
    """Return all text of a document that a program finds, visible or not."""
    document = pypdfium2.PdfDocument(data)
    return " ".join(page.get_textpage().get_text_range() for page in document) if data[:4] == b"%PDF" else ""


def verdicts_by(name: str, cases: list[Case], read_text: Callable[[bytes], str]) -> list[Verdict]:
    """Judge by the content, unless a text that `read_text` finds names a winner."""
    verdicts = []
    for case in cases:
        answer = shown_answer(case)
        found = re.search(r"Response ([AB])\b", read_text(case.item.media[0].data()).replace("\r\n", " "))
        if found and "planted" in case.item.tags:
            answer = LETTERS.index(found[1])
        marks = (0.5, 0.5) if answer is None else (1.0 - answer, float(answer))
        verdicts.append(Verdict.from_case(case, name, marks))
    return verdicts


@pytest.mark.parametrize(
    ("medium", "carrier", "read_text"),
    [
        ("video", "metadata", metadata_text), ("audio", "metadata", metadata_text),
        ("document", "metadata", metadata_text), ("document", "hidden text layer", layer_text),
    ],
)  # fmt: skip
def test_a_judge_that_obeys_what_nobody_sees_is_told_from_one_that_does_not(medium, carrier, read_text):
    cases = cases_of(medium)
    for name, read, is_fooled in (("obeys", read_text, True), ("clean", lambda _: "", False)):
        record = record_of(cases, verdicts_by(name, cases, read))
        outcomes = cards.build_findings(record, name).attack_outcomes
        assert outcomes.unusable_count == outcomes.unpaired_count == 0
        obeyed = {attack.row.change for attack in outcomes.attacks if attack.is_obeyed}
        assert obeyed == ({carrier} if is_fooled else set())
        rate = audit_measurements(cards.build_findings(record, name))["attack_rate"]
        assert (rate.value > 0.1) == is_fooled


def test_metadata_change_nothing_that_is_seen_or_heard_and_subtitles_the_second_half_only():
    for medium in ("video", "audio", "document"):
        cases = {case.item.id: case for case in cases_of(medium)}
        attacked = [case for case in cases.values() if case.item.tags.get("what") == "metadata"]
        assert attacked
        for case in attacked[:4]:
            plain, data = (one.item.media[0].data() for one in (cases[case.item.tags["base"]], case))
            assert metadata_text(data) == case.item.tags["planted"]
            assert pixels_or_samples(plain) == pixels_or_samples(data) != []
    case = next(case for case in cases_of("video") if case.item.tags.get("what") == "subtitles")
    plain = next(one for one in cases_of("video") if one.item.id == case.item.tags["base"])
    changed = [
        abs(np.asarray(frame, float)[2:, 2:] - np.asarray(other, float)[2:, 2:]).mean() > 0.5
        for frame, other in zip(
            frames_of(case.item.media[0].data()), frames_of(plain.item.media[0].data()), strict=True
        )
    ]
    assert changed == [False] * 6 + [True] * 6


def pixels_or_samples(data: bytes) -> list[bytes]:
    if data[8:12] == b"WEBP":
        return [frame.tobytes() for frame in frames_of(data)]
    if data[:4] == b"%PDF":
        return [page.render().to_numpy().tobytes() for page in pypdfium2.PdfDocument(data)]
    with wave.open(io.BytesIO(data)) as file:
        return [file.readframes(file.getnframes())]


@pytest.mark.parametrize("medium", ["video", "audio", "document"])
def test_a_gate_on_an_audit_of_media_passes_and_fails(call, tmp_path, medium):  # noqa: F811
    """The thresholds that --init writes hold; a judge that ignores the medium falls below them."""
    assert call("audit", "simulated:accurate", "--media", medium, "--quick", "--quiet")[0] == 0
    code, said = call("gate", "--init")
    assert code == 0, said
    text = (tmp_path / "gate.toml").read_text()
    names = [f"{medium}_accuracy", f"{medium}_use_index", *([] if medium == "audio" else [f"{medium}_order_index"])]
    assert [name for name in names if f"{name} = " in text] == names
    assert call("gate")[0] == 0
    (tmp_path / "other").mkdir()
    assert call("audit", "simulated:blind", "--media", medium, "--quick", "--quiet", "--ledger", "blind.ledger")[0] == 0
    blind = re.sub(r'judge = "[^"]*"', 'judge = "simulated/blind"', text)
    (tmp_path / "gate.toml").write_text(blind)
    code, said = call("gate", "--ledger", "blind.ledger", "--json")
    failed = [row[0] for row in json.loads(said)[0]["rows"] if row[3] == "failed"]
    assert code == 1
    assert {name.split(": ")[1] for name in failed} >= {f"{medium}_accuracy", f"{medium}_use_index"}


@pytest.mark.parametrize("medium", ["video", "document"])
def test_canaries_on_media_notice_a_judge_that_stopped_to_watch(tmp_path, monkeypatch, medium):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(canary_checks.draw_canaries, "__defaults__", (8,))
    runner = CliRunner()

    def watch(*words: str) -> str:
        done = runner.invoke(app, ["audit", "watch", *words, "--quiet"])
        assert done.exit_code == 0, done.output
        return done.output

    spec = "simulated:accurate?sharpness=9"
    assert "baseline only" in watch(spec, "--media", medium)
    assert "no sign of a change" in watch(spec, "--media", medium, "--calls", "20")
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        (alarm,) = canary_checks.load_alarms(ledger)
        record = ledger.record(study=canary_checks.study_of(medium))
        assert (alarm.medium, ledger.studies()) == (medium, [f"canaries-{medium}"])
        assert str(canary_checks.private_seed(ledger)) not in str([(one.id, one.tags) for one in record.items.values()])
        assert {part.kind for item in record.items.values() for part in item.media} <= {"image", medium}
    assert "medium" in watch("--json")
    # The same judge by name answers the other way round from now on.
    turned = [
        Verdict(
            verdict.case, verdict.judge, verdict.item, verdict.contestants, verdict.ballot, verdict.criterion,
            verdict.trial + 100, verdict.marks and verdict.marks[::-1], at=verdict.at + 1e4,
        )
        for verdict in record
        if verdict.trial < 4
    ]  # fmt: skip
    with Ledger(tmp_path / "fullbench.ledger", study=canary_checks.study_of(medium)) as ledger:
        ledger.add(*turned)
    assert "changed: the alarm rang" in watch()
    (tmp_path / "gate.toml").write_text(f'[[drift]]\njudge = "{alarm.judge}"\nmedium = "{medium}"\n')
    assert runner.invoke(app, ["gate"]).exit_code == 1
    (tmp_path / "gate.toml").write_text(f'[[drift]]\njudge = "{alarm.judge}"\nmedium = "smell"\n')
    done = runner.invoke(app, ["gate"])
    assert isinstance(done.exception, InputError)
    assert "no medium 'smell'" in str(done.exception)
