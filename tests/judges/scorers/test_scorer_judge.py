"""Score judges: how scores become marks, what they abstain from, and that each picture is scored once."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from fullbench import Choice, Item, Likert, Picture, Ranking, Real, Response, Score, Verdict
from fullbench.core.case import cases as cases_of
from fullbench.core.judge import Judge
from fullbench.errors import InputError, Unscorable
from fullbench.judges.scorers.safe_picture_decoding import decode_picture
from fullbench.judges.scorers.scorer_judge import CallableScorer, ScorerJudge
from tests.judges.scorers.making import case, encoded, picture, texture


def grey(value: int) -> Picture:
    return picture(Image.new("RGB", (8, 8), (value, value, value)))


def brightness(_prompt: str, image: Image.Image) -> float:
    return float(np.asarray(image).mean() / 255)


BRIGHT = CallableScorer("bright", brightness, span=(0.0, 1.0))


def ruling(judge: Judge, *args, **kwargs) -> Verdict:
    (verdict,) = judge.judge([case(*args, **kwargs)])
    assert isinstance(verdict, Verdict)
    return verdict


def test_the_higher_score_wins_whatever_the_order():
    judge = ScorerJudge(BRIGHT)
    assert isinstance(judge, Judge)
    assert ruling(judge, grey(10), grey(200)).marks == (0, 1)
    assert ruling(judge, grey(200), grey(10)).marks == (1, 0)
    assert ruling(judge, grey(9), grey(200), grey(100), ballot=Ranking()).marks == (1, 3, 2)


def test_scores_within_the_margin_tie_and_the_name_says_the_margin():
    judge = ScorerJudge(BRIGHT, margin=0.1)
    assert ruling(judge, grey(100), grey(110)).marks == (0.5, 0.5)
    assert ruling(judge, grey(100), grey(150)).marks == (0, 1)
    assert judge.name != ScorerJudge(BRIGHT).name


def test_where_no_tie_is_allowed_equal_scores_do_not_favour_a_place():
    judge = ScorerJudge(CallableScorer("flat", lambda *_: 1.0))
    one, two = grey(1), grey(2)
    first = ruling(judge, one, two, ballot=Choice(tie=False)).marks
    second = ruling(judge, two, one, ballot=Choice(tie=False)).marks
    assert first == second[::-1]


@pytest.mark.parametrize(
    ("ballot", "marks"),
    [
        (Real(0, 1), 0.4),
        (Real(0, 10), 4.0),
        (Real(0, 100), 40.0),
        (Score(1, 5), 3.0),
        (Likert(("bad", "poor", "fair", "good", "best")), 3.0),
    ],
)
def test_a_span_is_stretched_over_every_scale(ballot, marks):
    assert ruling(ScorerJudge(BRIGHT), grey(102), ballot=ballot).marks == pytest.approx((marks,))


def test_without_a_span_only_what_fits_as_it_is_is_ruled():
    judge = ScorerJudge(CallableScorer("raw", lambda *_: 3.5))
    assert ruling(judge, grey(1), ballot=Real(0, 10)).marks == (3.5,)
    for ballot in (Real(0, 1), Score(1, 5)):
        verdict = ruling(judge, grey(1), ballot=ballot)
        assert verdict.fault == "abstained"
        assert ballot.spec in verdict.text


def test_a_score_outside_the_span_is_never_cut_to_fit():
    judge = ScorerJudge(CallableScorer("wild", lambda *_: 1.5, span=(0, 1)))
    assert ruling(judge, grey(1), ballot=Real(0, 10)).fault == "abstained"
    assert ruling(judge, grey(1), grey(2)).marks == (0.5, 0.5)


def test_each_picture_is_scored_once_and_all_cases_are_ruled_in_order():
    seen: Counter[tuple[str, bytes]] = Counter()

    def count(prompt: str, image: Image.Image) -> float:
        seen[prompt, image.tobytes()] += 1
        return brightness(prompt, image)

    items = [Item.ask(f"i{n}", f"prompt {n}") for n in range(20)]
    responses = [Response(item.id, f"c{k}", (grey(10 * n + k),)) for n, item in enumerate(items) for k in range(3)]
    cases = [*cases_of(items, responses, Real(0, 1)), *cases_of(items, responses, Choice(), size=2)]
    verdicts = list(ScorerJudge(CallableScorer("count", count), batch=7, threads=3).judge(cases))
    assert [verdict.case for verdict in verdicts] == [one.key for one in cases]
    assert len(seen) == 60
    assert set(seen.values()) == {1}


def bomb() -> bytes:
    """A PNG that claims 60,000 by 60,000 pixels in a few bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")


HOSTILE = {
    "nothing": (b"", "no bytes"),
    "svg": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a picture"),
    "cut short": (encoded(texture(), "JPEG")[:400], "cannot be decoded"),
    "bomb": (bomb(), "pixels"),
    "animated": (
        encoded(texture(1), "GIF", save_all=True, append_images=[texture(2), texture(3)]),
        "animated (3 frames)",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_picture_is_a_fault_of_its_case_and_the_run_goes_on(kind, tmp_path):
    data, reason = HOSTILE[kind]
    path = tmp_path / "bad.png"
    path.write_bytes(data)
    bad = Picture(hashlib.sha256(data).hexdigest(), "image/png", path)
    good = [case(grey(1), grey(200), item="good1"), case(grey(3), grey(201), item="good2")]
    judge = ScorerJudge(BRIGHT, batch=2)
    verdicts = list(judge.judge([good[0], case(grey(5), bad, item="bad"), good[1]]))
    assert [verdict.fault for verdict in verdicts] == [None, "abstained", None]
    assert reason in verdicts[1].text


def test_a_picture_that_changed_or_vanished_is_a_fault(tmp_path):
    path = tmp_path / "p.png"
    path.write_bytes(encoded(texture()))
    kept = Picture.read(path)
    path.write_bytes(encoded(texture(1)))
    assert "changed" in ruling(ScorerJudge(BRIGHT), kept, grey(1)).text
    path.unlink()
    assert "was deleted or moved" in ruling(ScorerJudge(BRIGHT), kept, grey(1)).text


def test_equal_pictures_words_and_too_many_pictures_are_abstained():
    judge = ScorerJudge(BRIGHT)
    assert "twice" in ruling(judge, grey(1), grey(1)).text
    item = Item.ask("i", "p")
    words = next(cases_of([item], [Response.say("i", "c", "a cat")], Real(0, 1)))
    (verdict,) = judge.judge([words])
    assert (verdict.fault, verdict.text) == ("abstained", "a response shows 0 pictures where one is scored")


def test_pictures_are_seen_as_they_are_meant():
    """Turned as EXIF says, from CMYK, from sixteen bits, on white where transparent."""
    image = Image.new("RGB", (8, 4), "red")
    exif = Image.Exif()
    exif[0x0112] = 6
    assert decode_picture(picture(image, "JPEG", exif=exif)).size == (4, 8)
    assert decode_picture(picture(Image.new("CMYK", (4, 4), (0, 255, 255, 0)), "JPEG")).getpixel((0, 0))[0] > 200
    deep = Image.fromarray(np.full((4, 4), 40_000, dtype=np.uint16))
    assert decode_picture(picture(deep)).getpixel((0, 0)) == (156, 156, 156)
    assert decode_picture(picture(Image.new("RGBA", (4, 4), (255, 0, 0, 0)))).getpixel((0, 0)) == (255, 255, 255)
    palette = texture().convert("P")
    palette.info["transparency"] = b"\0" * 10
    assert decode_picture(picture(palette)).mode == "RGB"
    with pytest.raises(Unscorable, match="at most 10"):
        decode_picture(picture(texture()), max_pixels=10)


def test_a_wrong_margin_is_refused():
    with pytest.raises(InputError, match="margin"):
        ScorerJudge(BRIGHT, margin=-1)
