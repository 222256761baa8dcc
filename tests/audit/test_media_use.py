"""The use of videos: judges that watch, see one frame, ignore order or ignore all are distinguished; attacks count."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from PIL.Image import Image

from fullbench.audit import audit_card_and_board as cards
from fullbench.audit.cases import media_use_cases
from fullbench.audit.cases.media_use_cases import MEDIA, MediaSize
from fullbench.audit.cases.video_variants import decode_frames
from fullbench.audit.measures.media_use import MediaUse, measure_media_use
from fullbench.audit.measures.verdicts_with_truth import load_judged_cases
from fullbench.audit.simulated_judges import JUDGES, AuditJudge, simulated_judge
from fullbench.core.case import Case
from fullbench.core.judge import CallsNoModel
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.reports.words import language_messages
from fullbench.synthetic.moving_pictures import draw_video_question
from fullbench.synthetic.sounds import draw_sound_question
from tests.audit.test_audit_command import call  # noqa: F401  # a fixture
from tests.simulations.records import show
from tests.support.film_reader import answer_from_frames, frames_of
from tests.support.media_files import write_video
from tests.support.scripted_server import Asked, ScriptedServer
from tests.support.sound_and_document_readers import answer_from_pages, answer_from_sound, pages_of


@cache
def cases_of(medium: str, size: str, seed: int = 0) -> list[Case]:
    return list(media_use_cases.media_use_cases(medium, size, seed))


def record_of(cases: Sequence[Case], verdicts: Iterable[Verdict]) -> Record:
    responses = {(one.item, one.contestant, 0): one for case in cases for one in case.responses}
    return Record(tuple(verdicts), {case.item.id: case.item for case in cases}, responses)


def use_by(judge: AuditJudge, medium: str, cases: Sequence[Case]) -> MediaUse:
    """The judge's own marks: replies are neither written nor read, so that many judges can judge."""
    verdicts = (
        Verdict.from_case(case, judge.name, judge._draw_marks(case, random.Random(f"{judge.name}/{case.key}")))
        for case in cases
    )
    return measure_media_use(load_judged_cases(record_of(cases, verdicts), judge.name))[medium]


@dataclass
class FrameReader(CallsNoModel):
    """A judge that decodes the videos: all frames, only the first, or all of them in the order of their pixels."""

    way: str
    kind: ClassVar[str] = "model"
    settings: ClassVar[dict[str, str]] = {}

    @property
    def name(self) -> str:
        return f"frames/{self.way}"

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            frames: list[Image] = frames_of(case.item.pictures[0].data())
            if self.way == "first":
                frames = [frames[0]] * len(frames)
            elif self.way == "unordered":
                frames = sorted(frames, key=lambda frame: frame.tobytes())
            answer = answer_from_frames(case.item.question, frames, [response.text for response in case.responses])
            marks = (0.5, 0.5) if answer is None else (1.0 - answer, float(answer))
            yield Verdict.from_case(case, self.name, marks)


@pytest.mark.parametrize(("way", "watches", "order"), [("all", "yes", "yes"), ("unordered", "partly", "no")])
def test_judges_that_decode_the_frames_get_what_they_deserve(way, watches, order):
    cases = cases_of("video", "quick")
    judge = FrameReader(way)
    record = record_of(cases, judge.judge(cases))
    found = cards.build_findings(record, judge.name)
    use = found.use_of_media["video"]
    assert (use.verdict, use.order.verdict) == (watches, order)
    if way == "all":
        assert use.use.index.value == use.order.index.value == use.accuracy.value == 1
        assert found.attack_outcomes.obeyed_count == 0
        assert len(found.attack_outcomes.attacks) == media_use_cases.SIZES["quick"].attacks
        card = cards.audit_card(record, found)
        shown = {row[0]: row for row in card.sections["Video use"][0].rows}
        # A frozen or black video tells nothing, so that a reader of its frames ties, or sees that nothing changed.
        assert shown["black"][1].value == 0.5
        assert shown["swapped"][1].value == shown["reversed"][1].value == 1


def test_the_first_frame_alone_is_said_to_be_all_that_a_judge_sees():
    use = use_by(JUDGES["first-frame"], "video", cases_of("video", "default"))
    assert use.is_first_frame_only
    assert use.use.verdict == "no"
    blind = use_by(JUDGES["blind"], "video", cases_of("video", "default"))
    assert not blind.is_first_frame_only


def test_an_index_is_the_plain_mean_over_pairs():
    """By hand from the verdicts: 1 for a pair whose both verdicts follow, 0 for one that stays, -1 for the reverse."""
    cases, judge = cases_of("video", "quick"), simulated_judge("accurate", {"picture_use": "0.5", "sharpness": "2"})
    rng = random.Random(4)
    marks = {case.item.id: judge._draw_marks(case, rng) for case in cases}
    verdicts = [Verdict.from_case(case, "j", marks[case.item.id]) for case in cases]
    use = measure_media_use(load_judged_cases(record_of(cases, verdicts), "j"))["video"]
    for change, index in (("swapped", use.use.index), ("reversed", use.order.index)):
        values = []
        for case in cases:
            if case.item.tags.get("what") == change:
                right = case.contestants.index("right")
                # The right answer of the original wins there, and loses on the other video.
                values.append(marks[case.item.tags["base"]][right] - marks[case.item.id][right])
        assert index.value == pytest.approx(np.mean(values))


def test_variants_hide_or_turn_what_they_should():
    """Frames by decoding: backwards, all alike, all black, and text in exactly one."""
    cases = {case.item.id: decode_frames(case.item.pictures[0].data()) for case in cases_of("video", "quick")}
    for name in ("video-0-000", "video-0-001"):
        shown = [np.asarray(frame, dtype=float)[2:, 2:] for frame in cases[name]]
        turned, frozen, black = (
            [np.asarray(frame, dtype=float)[2:, 2:] for frame in cases[f"{name}~{change}"]]
            for change in ("reversed", "frozen", "black")
        )
        assert len(shown) == len(turned) == len(frozen) == len(black) == 12
        assert max(abs(one - two).mean() for one, two in zip(shown, turned[::-1], strict=True)) < 0.4
        assert abs(shown[0] - turned[0]).mean() > 0.5
        assert max(abs(frame - shown[0]).mean() for frame in frozen) < 0.4
        assert max(frame.max() for frame in black) < 12
        attacked = next(frames for key, frames in cases.items() if key.startswith(f"{name}~attack"))
        changed = [abs(np.asarray(frame, dtype=float)[2:, 2:] - plain).mean() > 0.5
                   for frame, plain in zip(attacked, shown, strict=True)]  # fmt: skip
        assert changed == [number == 6 for number in range(12)]


def area(good: Sequence[float], bad: Sequence[float]) -> float:
    """The area under the curve of "good is larger"."""
    one, two = np.array(good)[:, None], np.array(bad)
    return float((one > two).mean() + 0.5 * (one == two).mean())


def hundred_cases(medium: str) -> list[Case]:
    """An audit of 100 cases in all, of whatever kind."""
    questions = {"video": 36, "audio": 45, "document": 36}[medium]
    media_use_cases.SIZES["hundred"] = MediaSize(questions, 5, 0)  # type: ignore[index]
    cases = cases_of(medium, "hundred", 7)
    assert 98 <= len(cases) <= 101
    return cases


def indices(judge: AuditJudge, medium: str, judges: int, measure: str = "use") -> list[float]:
    cases = hundred_cases(medium)
    uses = (use_by(replace(judge, seed=seed), medium, cases) for seed in range(judges))
    return [getattr(use, measure).index.value for use in uses]


PLANTED = [
    ("video", "use", AuditJudge("blind", picture_use=0.0)),
    ("video", "use", AuditJudge("first", first_frame=1.0)),
    ("video", "order", AuditJudge("unordered", order_use=0.0)),
    ("audio", "use", AuditJudge("deaf", picture_use=0.0)),
    ("document", "use", AuditJudge("unread", picture_use=0.0)),
    ("document", "order", AuditJudge("unordered", order_use=0.0)),
]
CLEAN = AuditJudge("clean", sharpness=3.0)
"""Right in 95 % of pairs."""


@pytest.mark.parametrize(("medium", "measure", "planted"), PLANTED)
def test_planted_judges_are_distinguished_by_100_cases(medium, measure, planted):
    clean = indices(CLEAN, medium, 12, measure)
    assert area(clean, indices(planted, medium, 12, measure)) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("medium", "measure", "planted"), PLANTED)
@pytest.mark.parametrize("watching", [0.5, 0.7, 1.0])
def test_100_planted_judges_are_distinguished_from_100_that_use_it_at_times(medium, measure, planted, watching):
    clean = indices(replace(CLEAN, picture_use=watching), medium, 100, measure)
    found = area(clean, indices(planted, medium, 100, measure))
    show(f"{medium}, {measure}, {planted.label}, used in {watching:.0%}: AUC {found:.3f}")
    assert found >= 0.95


def accused(medium: str, judges: int) -> float:
    """How often a clean judge is said not to use the medium, to see the first frame only, or to ignore the order."""
    cases = hundred_cases(medium)
    uses = [use_by(replace(CLEAN, seed=seed), medium, cases) for seed in range(judges)]
    return float(
        np.mean([use.verdict == "no" or (use.order.index is not None and use.order.verdict == "no") for use in uses])
    )  # fmt: skip


@pytest.mark.parametrize("medium", list(MEDIA))
def test_clean_judges_are_not_accused_in_a_few_audits(medium):
    assert accused(medium, 20) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("medium", list(MEDIA))
def test_clean_judges_are_accused_in_5_percent_at_most(medium):
    share = accused(medium, 200)
    show(f"{medium}: {share:.3f} of 200 clean judges accused")
    assert share <= 0.05


def test_the_command_says_it_in_words_first_and_counts_its_calls(call, tmp_path):  # noqa: F811
    plan = json.loads(
        call(
            "audit",
            "openai:gpt-4o?key_env=NOBODY&mode=direct&video=frames",
            "--media",
            "video",
            "--quick",
            "--dry-run",
            "--json",
        )
    )
    planned = dict(zip(plan[0]["columns"], plan[0]["rows"][0], strict=True))["calls"]
    assert list(tmp_path.iterdir()) == []
    said = call("audit", "simulated:blind", "--media", "video", "--quick", "--quiet")
    assert said.splitlines()[1].startswith("There is no sign that it uses the video")
    assert len(said.splitlines()) <= 40
    assert "picture" not in said
    again = call("audit", "simulated:blind", "--media", "video", "--quick", "--quiet", "--json")
    card = json.JSONDecoder().raw_decode(again[again.index("{") :])[0]
    assert card["measures"]["verdicts"] == card["measures"]["cases"] == planned
    assert card["measures"]["video_use"]["verdict"] == "no"
    watching = call("audit", "simulated:accurate", "--media", "video", "--quick", "--quiet", "--out", "card.html")
    assert "It uses the video (video use index 1.00" in watching
    page = (tmp_path / "card.html").read_text(encoding="utf-8")
    assert ">Video use</h2>" in page
    assert ">Picture use</h2>" not in page
    board = json.loads(call("audit", "--json"))[0]
    assert len(board["rows"]) == 2
    assert "video use index" in board["columns"]
    assert "uses picture" not in board["columns"]


@pytest.mark.slow
def test_pictures_and_videos_in_one_audit(call):  # noqa: F811
    said = call("audit", "simulated:order-blind", "--media", "video,picture", "--quick", "--quiet", "--json")
    card = json.JSONDecoder().raw_decode(said[said.index("{") :])[0]
    assert card["measures"]["picture_use"] == "yes"
    assert card["measures"]["video_use"]["order"] == "no"
    assert "It uses the picture" in card["lead"]
    assert "There is no sign that it uses the order of frames" in card["lead"]


def test_a_medium_that_does_not_exist_is_refused(call):  # noqa: F811
    from typer.testing import CliRunner

    from fullbench.cli.all_commands import app

    done = CliRunner().invoke(app, ["audit", "simulated:accurate", "--media", "smell"])
    assert isinstance(done.exception, InputError)
    assert "no medium 'smell'; known: picture, video" in str(done.exception)


def test_the_card_speaks_chinese():
    cases = cases_of("video", "quick")
    judge = JUDGES["order-blind"]
    verdicts = tuple(judge.judge(cases))
    found = cards.build_findings(record_of(cases, verdicts), judge.name)
    lead = cards.lead_text(found).translate_with(language_messages("zh"))
    assert "先后使用指数" in lead
    assert "video" not in lead


def sent_parts(body: dict) -> tuple[str, list[bytes]]:
    """The text of a request's last message, and what came with it: frames, recordings, documents."""
    content = body["messages"][-1]["content"]
    texts, files = [], []
    for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        if part["type"] == "text":
            texts.append(part["text"])
        else:
            value = part[part["type"]]
            data = value.get("url") or value.get("data") or value.get("file_data")
            files.append(base64.b64decode(data.rpartition(",")[2]))
    return "".join(texts), files


def reply_by(read: Callable[[str, list[bytes], list[str]], int | None]) -> Callable[[Asked], str]:
    """A model that decodes what it is sent, and chooses the answer that fits."""

    def reply(asked: Asked) -> str:
        text, files = sent_parts(asked.body)
        # Frames with their times may be between the heading and the question.
        question = re.search(r"The question:\n(?:\[.*\]\s*\n|\s*\n)*(.+)", text)
        answers = re.findall(r"<response [AB] \w+>\n(.+)\n</response", text)
        code = re.search(r"Write (\w+) in front", text)
        assert question is not None, text
        assert code is not None, text
        assert len(answers) == 2, text
        answer = read(question[1], files, answers)
        return f"{code[1]} [[{'C' if answer is None else 'AB'[answer]}]]"

    return reply


MODELS = {
    "eye": reply_by(lambda question, files, answers: answer_from_frames(question, [*map(picture, files)], answers)),
    "ear": reply_by(lambda question, files, answers: answer_from_sound(question, files[0], answers)),
    "reader": reply_by(lambda question, files, answers: answer_from_pages(question, pages_of(files[0]), answers)),
}


def picture(data: bytes) -> Image:
    return frames_of(data)[0]


@pytest.mark.parametrize(
    ("medium", "spec", "verdict"),
    [
        ("video", "vllm:eye@{url}?mode=direct&key_env=KEY&video=frames", "yes"),
        ("video", "vllm:eye@{url}?mode=direct&key_env=KEY", "no"),
        ("audio", "vllm:ear@{url}?mode=direct&key_env=KEY", "yes"),
        ("document", "openrouter:reader@{url}?mode=direct&key_env=KEY", "yes"),
    ],
)
def test_a_model_behind_a_server_that_decodes_what_it_is_sent(call, monkeypatch, medium, spec, verdict):  # noqa: F811
    """Frames, recordings and documents arrive over HTTP, and a model that reads them is found to use them."""
    if medium == "document":
        pytest.importorskip("pypdfium2")
    monkeypatch.setenv("KEY", "sk-not-a-key")
    monkeypatch.setenv("FULLBENCH_CACHE", "cache")
    with ScriptedServer(MODELS) as server:
        said = call("audit", spec.format(url=server.url), "--media", medium, "--quick", "--quiet", "--json")
    assert len(server.asked) == len(cases_of(medium, "quick"))
    measures = json.JSONDecoder().raw_decode(said[said.index("{\n") :])[0]["measures"]
    use = measures[f"{medium}_use"]
    assert use["verdict"] == verdict
    assert measures["unusable"] == 0
    if verdict == "yes":
        assert use["index"]["value"] == use["accuracy"]["value"] == 1
        assert use.get("order_index", {"value": 1})["value"] == 1
    else:  # one still of each video: it never tells the answer
        assert "gets one still of each video" in said
        assert use["accuracy"]["value"] == 0.5


def write_lines(file: Path, rows: list[dict]) -> None:
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def own_card(said: str) -> dict:
    card = json.JSONDecoder().raw_decode(said[said.index("{\n") :])[0]
    (table,) = [table for table in card["tables"] if table["name"] == "own picture use"]
    shares = {row[0]: row[1] for row in table["rows"]}
    return {**card, "changed": {name: value["value"] for name, value in shares.items()}}


def test_on_your_own_videos_and_recordings(call, monkeypatch, tmp_path):  # noqa: F811
    """MP4, moving pictures and WAV: a model that decodes them is found to use them, one that never changes is not."""
    pytest.importorskip("av")
    monkeypatch.setenv("KEY", "sk-not-a-key")
    monkeypatch.setenv("FULLBENCH_CACHE", "cache")
    items, sounds, answers = [], [], []
    for number in range(7):
        film = draw_video_question(9, 6 * number)  # a thing that moves left, right, up or down
        file = f"{number}.mp4" if number % 2 else f"{number}.webp"
        if number % 2:
            write_video(tmp_path / file, frames_of(film.shown), fps=4)
        else:
            (tmp_path / file).write_bytes(film.shown)
        items.append({"id": f"v{number}", "question": film.question, "videos": [file]})
        sound = draw_sound_question(9, number)
        (tmp_path / f"{number}.wav").write_bytes(sound.shown)
        sounds.append({"id": f"a{number}", "question": sound.question, "audio": [f"{number}.wav"]})
        answers += [
            {"item": f"{letter}{number}", "contestant": name, "text": text}
            for letter, known in (("v", film), ("a", sound))
            for name, text in (("right", known.right), ("wrong", known.wrong))
        ]
    sounds.append({"id": "alone", "question": "?"})
    write_lines(tmp_path / "items.jsonl", items)
    write_lines(tmp_path / "sounds.jsonl", sounds)
    for letter in "va":
        own = [answer for answer in answers if answer["item"].startswith(letter)]
        write_lines(tmp_path / f"answers-{letter}.jsonl", own)
    words = ("--picture-use-only", "--quiet", "--json", "--responses")
    with ScriptedServer({**MODELS, "fixed": lambda _: "[[A]]"}) as server:
        spec = f"@{server.url}?mode=direct&key_env=KEY"
        card = own_card(
            call("audit", f"vllm:eye{spec}&video=frames", "--items", "items.jsonl", *words, "answers-v.jsonl")
        )
        assert "It uses your videos" in card["lead"]
        # A reversed video makes the other answer right; a frozen or black one leaves a reader of frames undecided.
        assert card["changed"] == {
            "again": 0, "black": 1, "swapped": card["changed"]["swapped"], "frozen": 1, "reversed": 1
        }  # fmt: skip
        fixed = own_card(
            call("audit", f"vllm:fixed{spec}&video=frames", "--items", "items.jsonl", *words, "answers-v.jsonl")
        )
        assert "There is no sign that it uses your videos" in fixed["lead"]
        said = call("audit", f"vllm:ear{spec}", "--items", "sounds.jsonl", *words, "answers-a.jsonl")
    assert "1 of 8 items was skipped" in said
    heard = own_card(said)
    assert "It uses your recordings" in heard["lead"]
    assert heard["changed"]["silence"] == 1
    assert heard["changed"]["again"] == 0
