"""Whole studies of media: a preference set of videos, and questions about documents, from files to summary and page.

The judges are models behind servers on this machine. They decode what they are sent with code of their own, and some
are wrong on purpose, so that every number can be computed here, too.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from fullbench import Ledger
from tests.support.commands import write_rows
from tests.support.media_files import ball_frames, write_video
from tests.support.recording_model_server import RecordingServer
from tests.support.scripted_server import Asked, ScriptedServer

pytest.importorskip("av")
pypdfium2 = pytest.importorskip("pypdfium2")

ITEMS = 18
DIRECTIONS = {True: "The ball moves to the right.", False: "The ball moves to the left."}


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch) -> None:
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("KEY", "k")


def sent_files(asked: Asked) -> list[bytes]:
    """Return the pictures, videos and documents of a request."""
    parts = asked.body["messages"][-1]["content"]
    values = [part[part["type"]] for part in parts if part["type"] != "text"]
    return [base64.b64decode((value.get("url") or value.get("file_data")).partition(",")[2]) for value in values]


def ball_place(data: bytes) -> float:
    """Return the mean column of the red pixels."""
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    return float(np.nonzero((pixels[..., 0] > 150) & (pixels[..., 1] < 120))[1].mean())


def choose(asked: Asked, fits: str) -> str:
    """Choose the response that contains a text."""
    code = re.search(r"Write (\w+) in front", asked.last)
    shown = [bool(fits in text) for text in re.findall(r"<response [AB] \w+>\n(.+)\n</response", asked.last)]
    assert code
    assert len(shown) == 2, asked.last
    return f"{code[1]} [[{'C' if shown[0] == shown[1] else 'AB'[shown.index(True)]}]]"


def watch(asked: Asked) -> str:
    frames = sent_files(asked)
    assert len(frames) == 3
    return choose(asked, "right" if ball_place(frames[-1]) > ball_place(frames[0]) else "left")


def look_at_first_frame(asked: Asked) -> str:
    """Guess from where the ball begins, which tells nothing here."""
    return choose(asked, "right" if ball_place(sent_files(asked)[0]) > 40 else "left")


def test_a_preference_set_of_videos_from_import_to_card_summary_and_page(cli, tmp_path):
    """The layout of VideoRewardBench: a judge that watches and one that looks at one frame; accuracies by hand."""
    rows, guesses = [], {}
    for number in range(ITEMS):
        is_right, fools_glancer = number % 2 == 0, number % 3 == 0
        frames = [Image.fromarray(frame) for frame in ball_frames(to_right=is_right)]
        # A part of the way, so that the first frame shows the ball at either end for both directions.
        part = frames[:8] if fools_glancer else frames[-8:]
        write_video(tmp_path / "videos" / f"{number}.mp4", part, fps=8)
        first = np.nonzero(np.asarray(part[0])[..., 0] > 200)[1].mean()
        guesses[number] = float((first > 40) == is_right)
        rows.append({
            "id": f"v{number}", "video": f"videos/{number}.mp4", "question": "Where does the ball move?",
            "category": ("perception", "reasoning")[number % 2], "chosen": DIRECTIONS[is_right],
            "rejected": DIRECTIONS[not is_right],
        })  # fmt: skip
    accuracy = np.mean([*guesses.values()])
    assert accuracy == pytest.approx(2 / 3)
    write_rows(tmp_path / "set.jsonl", rows)
    code, out, err = cli("import", "huggingface", "set.jsonl", "--out", "bench")
    assert code == 0, err
    with ScriptedServer({"watcher": watch, "glancer": look_at_first_frame}) as server:
        specs = [f"vllm:{name}@{server.url}?mode=direct&key_env=KEY&frames=3" for name in ("watcher", "glancer")]
        study = tmp_path / "bench" / "study.toml"
        study.write_text(re.sub(r"judges = \[\].*", f"judges = {json.dumps(specs)}", study.read_text()))
        code, out, err = cli("run", "bench/study.toml", "--quiet", "--json")
        assert code == 0, err
        assert len(server.asked) == 4 * ITEMS, "both judges, both orders"
        code, _, err = cli("run", "bench/study.toml", "--quiet")
        assert f"Called 0, reused {4 * ITEMS}, failed 0" in err
        # As the benchmark of that name: accuracy by category, in both orders.
        (tmp_path / "study.toml").write_text(
            f'name = "v"\nbenchmark = "videorewardbench"\ndata = "set.jsonl"\njudges = {json.dumps(specs[1:])}\n'
            'ledger = "v.ledger"\n'
        )
        code, own_out, err = cli("run", "study.toml", "--quiet", "--json")
        assert code == 0, err
    tables = {table["name"]: table for table in json.loads(out)}
    judges = {row[0]: row for row in tables["summary judges"]["rows"]}
    columns = [column["name"] if isinstance(column, dict) else column for column in tables["summary judges"]["columns"]]
    measured = {name.partition("@")[0]: row[columns.index("agreement")]["value"] for name, row in judges.items()}
    assert measured == {"watcher": 1.0, "glancer": pytest.approx(accuracy)}
    code, out, err = cli("card", "glancer", "--ledger", "bench/study.ledger", "--json")
    assert code == 0, err
    assert str(accuracy)[:12] in out
    (by_category,) = [table for table in json.loads(own_out) if table["name"] == "pairs by category"]
    at = next(place for place, column in enumerate(by_category["columns"]) if "accuracy" in str(column))
    shown = {
        str(cell): row[at]["value"]
        for row in by_category["rows"]
        for cell in row
        if cell in ("perception", "reasoning")
    }
    assert shown == {
        name: pytest.approx(np.mean([guesses[number] for number in range(ITEMS) if number % 2 == is_odd]))
        for is_odd, name in enumerate(("perception", "reasoning"))
    }
    page = (tmp_path / "bench" / "report.html").read_text()
    assert page.count("data:video/mp4;base64,") >= 1
    assert "watcher" in page


COLOURS = {"red": (220, 30, 30), "green": (30, 160, 30), "blue": (30, 30, 220)}


def coloured_pdf(names: list[str]) -> bytes:
    pages = [Image.new("RGB", (200, 280), COLOURS[name]) for name in names]
    out = io.BytesIO()
    pages[0].save(out, "PDF", save_all=True, append_images=pages[1:])
    return out.getvalue()


def colour_name(pixel: tuple[int, ...]) -> str:
    return min(COLOURS, key=lambda name: sum(abs(a - b) for a, b in zip(COLOURS[name], pixel, strict=True)))


def read_document(asked: Asked) -> str:
    """Render the document that was sent, and look at its second page."""
    (data,) = sent_files(asked)
    assert data.startswith(b"%PDF")
    page = pypdfium2.PdfDocument(data)[1].render().to_pil().convert("RGB")
    return choose(asked, colour_name(page.getpixel((50, 50))))


def read_pages(asked: Asked) -> str:
    """Look at the picture of the second page."""
    pages = sent_files(asked)
    assert len(pages) == 2
    return choose(asked, colour_name(Image.open(io.BytesIO(pages[1])).convert("RGB").getpixel((50, 50))))


def read_cover(asked: Asked) -> str:
    """Look at the first page only."""
    return choose(asked, colour_name(Image.open(io.BytesIO(sent_files(asked)[0])).convert("RGB").getpixel((50, 50))))


def test_questions_about_documents_with_three_judges_end_in_a_summary(cli, tmp_path):
    """One judge gets the file, one the pages and one looks at the first page: rankings, agreement, and a panel."""
    names = [*COLOURS]
    items, answers, cover_is_right = [], [], Counter[str]()
    for number in range(12):
        first, second = names[number % 3], names[(number // 3) % 3]
        (tmp_path / f"{number}.pdf").write_bytes(coloured_pdf([first, second]))
        items.append({"id": f"d{number}", "question": "Which colour has page 2?", "documents": [f"{number}.pdf"]})
        wrong = next(name for name in names if name != second)
        other = first if first != second else wrong
        answers += [{"item": f"d{number}", "contestant": "reader", "text": f"It is {second}."},
                    {"item": f"d{number}", "contestant": "skimmer", "text": f"It is {other}."}]  # fmt: skip
        cover_is_right[first == second] += 1
    write_rows(tmp_path / "items.jsonl", items)
    write_rows(tmp_path / "answers.jsonl", answers)
    models = {"whole": read_document, "pages": read_pages, "cover": read_cover}
    with ScriptedServer(models) as server:
        kinds = {"whole": "openrouter", "pages": "vllm", "cover": "vllm"}
        specs = [f"{kind}:{name}@{server.url}?mode=direct&key_env=KEY" for name, kind in kinds.items()]
        words = [word for spec in specs for word in ("--judge", spec)]
        code, out, err = cli(
            "judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "choice", *words, "--quiet",
            "--json",
        )  # fmt: skip
    assert code == 0, err
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        wins = Counter(
            (verdict.judge.partition("@")[0], winner)
            for verdict in ledger.verdicts()
            for winner, mark in zip(verdict.contestants, verdict.marks or (), strict=True)
            if mark == 1
        )
    shares = {judge: {who: wins[judge, who] for who in ("reader", "skimmer")} for judge in models}
    assert shares["whole"] == shares["pages"] == {"reader": 24, "skimmer": 0}
    assert shares["cover"] == {"reader": 2 * cover_is_right[True], "skimmer": 2 * cover_is_right[False]}
    code, out, err = cli("report")
    assert code == 0, err
    rows = {words[1]: words for line in out.splitlines() if len(words := line.split()) > 3 and words[0] == "1"}
    assert rows["reader"][-2:] == ["1280", "1280"], "the ratings by both judges that read page 2 are equal"
    assert rows["skimmer"][-2:] == ["720", "720"]
    assert "no people voted" in out


def test_each_dialect_judges_a_folder_of_clips_with_one_question(cli, tmp_path):
    """`judge --items clips/ --question ...`: every dialect sends the file or frames, and gets a verdict."""
    write_video(tmp_path / "clips" / "walk.mp4", [Image.fromarray(frame) for frame in ball_frames(count=6)])
    write_rows(tmp_path / "answers.jsonl", [{"item": "walk", "contestant": "m", "text": DIRECTIONS[True]}])
    clip = (tmp_path / "clips" / "walk.mp4").read_bytes()
    specs = {
        "openai:a@{url}/v1": 4, "responses:b@{url}/v1": 4, "anthropic:c@{url}/v1": 4, "gemini:d@{url}/v1": 0,
        "openrouter:e@{url}/v1": 4, "openrouter:f@{url}/v1&video=native": 0, "vllm:g@{url}/v1": 4,
        "vllm:h@{url}/v1&video=native": 0, "gemini:i@{url}/v1&video=frames": 4,
    }  # fmt: skip
    with RecordingServer(lambda text: "[[4]]") as server:
        for spec, frames in specs.items():
            server.bodies.clear()
            place, _, more = spec.format(url=server.url).partition("&")
            judge = f"{place}?mode=direct&key_env=KEY{'&frames=4' if frames else ''}{'&' + more if more else ''}"
            code, _, err = cli(
                "judge", "--items", "clips/", "--question", "What happens?", "--responses", "answers.jsonl",
                "--ballot", "score:1-5", "--judge", judge, "--quiet",
            )  # fmt: skip
            assert code == 0, (spec, err)
            assert "Called 1, reused 0, failed 0" in err, spec
            ((_, raw),) = server.bodies
            assert raw.count(b"/9j/") + raw.count(b"iVBOR") == frames, spec
            assert (base64.b64encode(clip) in raw) == (frames == 0), spec
    with Ledger(tmp_path / "fullbench.ledger", read_only=True) as ledger:
        assert [verdict.marks for verdict in ledger.verdicts()] == [(4.0,)] * len(specs)
        assert len({verdict.judge for verdict in ledger.verdicts()}) == len(specs)
        assert list(ledger.verify()) == []
