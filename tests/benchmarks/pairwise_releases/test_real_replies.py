"""What judges really wrote, beside what was stored as their ruling.

Where we differ from the stored parse, the test says which kinds of difference are right and counts them, so that a
change in reading shows.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fullbench import ballot
from fullbench.core.ballot import LETTERS, MarksOrFault

DATA = Path(__file__).parents[3] / ".." / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the published judge outputs are not at hand (shared/data)")
HQ = "mllm-as-a-judge/native/Hard_HQ/HQ/"
HARD = "mllm-as-a-judge/native/Hard_HQ/Hard/"
FAULTS = ("unreadable", "refused")


def rows(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def order(ruling: MarksOrFault) -> str:
    """A ranking as its letters, best first; a fault as it is."""
    if isinstance(ruling, str):
        return ruling
    return "".join(LETTERS[i] for i in sorted(range(len(ruling)), key=lambda i: -ruling[i]))


def test_scores_of_the_hq_subset() -> None:
    """137 of 142; four stored scores are not what the text says, and one text ends in the word 'Excellent (5)'."""
    kind = ballot("score:1-5")
    read = [
        (kind.read(row["result"]["analysis"], 1), row["evaluator"]["judge_Evaluator"])
        for row in rows(HQ + "Score.jsonl.gz")
    ]
    assert len(read) == 142
    assert sum(ruling == (float(stored),) for ruling, stored in read) >= 137
    assert sum(ruling in FAULTS for ruling, _ in read) <= 1


def test_rankings_of_the_hq_subset() -> None:
    """130 of 133, stored letters beyond the number of answers left out; three stored rankings are not what is said."""
    kind = ballot("ranking")
    same = total = 0
    for row in rows(HQ + "Batch.jsonl.gz"):
        n = len(row["answers"])
        stored = "".join(letter for letter in row["evaluator"]["judge_evaluator"] if letter in LETTERS[:n])
        same += order(kind.read(row["evaluator"]["judge"], n)) == stored
        total += 1
    assert total == 133
    assert same >= 130


@pytest.mark.parametrize(("judge", "count"), [("result1", 113), ("result2", 114)])
def test_rankings_of_the_hard_subset(judge: str, count: int) -> None:
    """Gemini ranked 113 panels of four, GPT-4V 114, one of them of three; no parse is stored, so ours is checked
    against the plainest one: the last row of letters in brackets."""
    kind = ballot("ranking")
    read = 0
    for row in rows(HARD + "Batch.jsonl.gz"):
        if judge not in row:
            continue
        n = sum(f"answer{i}" in row for i in range(6))
        text = row[judge]["analysis"]
        plainest = re.findall(rf"\[[A-D](?:[\]\[, ]+[A-D]){{{n - 1}}}\]", text)[-1]
        assert order(kind.read(text, n)) == re.sub("[^A-D]", "", plainest)
        read += 1
    assert read == count


def test_scores_of_a_weak_judge() -> None:
    """CogVLM's replies: a digit that never ends, a speed, a list are stored as scores; we read none into them. One
    repeats the rubric as an object, of which the first key is stored, and rules in its last."""
    kind = ballot("score:1-5")
    seen: Counter[str] = Counter()
    for row in rows("mllm-as-a-judge/native/step3/Score/CogVLM.jsonl.gz"):
        result = row["result"]
        ruling = kind.read(result.get("analysis") or result["oral"], 1)
        seen["unread" if ruling in FAULTS else "same" if ruling == (float(result["judge"]),) else "other"] += 1
    assert seen == {"same": 2986, "unread": 233, "other": 1}


def test_rankings_of_a_weak_judge() -> None:
    """LLaVA's replies: 104 of 1015 rank answers that were not shown; one changes its mind, and its first is stored."""
    kind = ballot("ranking")
    seen: Counter[str] = Counter()
    for row in rows("mllm-as-a-judge/native/step3/Batch/LLaVA.jsonl.gz"):
        n, stored = len(row["answers"]), row["result"]["judge"]
        ruling = order(kind.read(row["result"]["analysis"], n))
        legal = sorted(stored) == list(LETTERS[:n])
        seen["same" if ruling == stored else "unread, illegal" if ruling in FAULTS and not legal else "other"] += 1
    assert seen == {"same": 910, "unread, illegal": 104, "other": 1}


FIVE = "likert:Extremely Poor|Poor|Average|Good|Outstanding"
TEN = (
    "likert:Extremely Poor|Very Poor|Poor|Below Average|Average|Above Average|Good|Very Good|Excellent|Outstanding"
)  # fmt: skip
MJ_BALLOTS = {"likert5": FIVE, "likert10": TEN, "number5": "real:0-5", "number10": "real:0-10"}


def stored_score(value: object) -> float | None:
    """A stored score; None where none was found."""
    try:
        return float(str(value).rstrip("."))
    except ValueError:
        return None


def test_single_ratings_of_mj_bench() -> None:
    """Pictures rated one by one. Never another value than the stored one. Where only one side has a value:

    - gained: nothing was stored, but the text does rate ("I would rate it 4 out of 5", a label over a line break);
    - off the scale: stored is a value off the scale asked for (8 of 5);
    - rescaled: stored is the numerator of a fraction of another scale (5/10 where 5 is the best).
    """
    seen: Counter[str] = Counter()
    for row in rows("mjbench/judge_outputs_action.jsonl.gz"):
        if not row["mode"].startswith("single"):
            continue
        kind = ballot(MJ_BALLOTS[row["scale"]])
        for text, value in zip(row["outputs"], (row["score_0"], row["score_1"]), strict=True):
            stored, ruling = stored_score(value), kind.read(text, 1)
            if isinstance(ruling, str):
                rescaled = f"{stored:g}/10" in text if stored is not None else False
                off = stored is not None and not kind.allows([stored])
                seen["same" if stored is None else "off the scale" if off else "rescaled" if rescaled else "other"] += 1
            else:
                seen["gained" if stored is None else "same" if ruling == (stored,) else "other"] += 1
    assert seen == {"same": 2331, "gained": 209, "off the scale": 96, "rescaled": 4}


def test_ratings_in_pairs_of_mj_bench() -> None:
    """Pictures rated together: four replies number the words of a scale, three were not found by the stored parse."""
    seen: Counter[str] = Counter()
    for row in rows("mjbench/judge_outputs_action.jsonl.gz"):
        if row["mode"] != "multi":
            continue
        stored = stored_score(row["score_0"]), stored_score(row["score_1"])
        ruling = ballot(MJ_BALLOTS[row["scale"]]).read(row["outputs"][0], 2)
        none = None in stored
        seen["same" if ruling == stored or (ruling in FAULTS and none) else "gained" if none else "unread"] += 1
    assert seen == {"same": 353, "gained": 3, "unread": 4}


def test_better_picture_of_mj_bench() -> None:
    """`BETTER IMAGE: n`: always as stored. 0 ("cannot decide") names no picture and is not read, but for one reply that
    goes on to say that it is a tie."""
    kind = ballot("choice+tie")
    seen: Counter[str] = Counter()
    for row in rows("mjbench/judge_outputs_action.jsonl.gz"):
        if row["mode"] != "multi":
            continue
        stored = {"0": (1.0, 0.0), "1": (0.0, 1.0)}.get(row["vlm_pred"])
        ruling = kind.read(row["outputs"][0], 2)
        if stored is None:
            seen[
                "undecided, unread" if ruling in FAULTS else "undecided, a tie" if ruling == (0.5, 0.5) else "other"
            ] += 1
        else:
            seen["same" if ruling == stored else "other"] += 1
    assert seen == {"same": 292, "undecided, unread": 67, "undecided, a tie": 1}


def winner(stored: str | None) -> tuple[float, float] | None:
    """A stored comparison as marks; None where it is none or contradicts itself (`B>A=Good`, `A=A`)."""
    match = re.fullmatch(r"(?:\[\[\s*)?([AB])\s*(>|>>|=)\s*([AB])(?:\s*=\s*(?:Good|Bad))?(?:\s*\]\])?", stored or "")
    if match is None or match[1] == match[3] or (match[2] != "=" and "d" in match[0]):
        return None
    return (0.5, 0.5) if match[2] == "=" else (1.0, 0.0) if match[1] == "A" else (0.0, 1.0)


def test_comparisons_of_wildvision() -> None:
    """GPT-4o's comparisons: the same wherever the text has one. Stored as a tie, though no text is there, were failed
    calls; two texts are cut before the ruling that was stored."""
    kind = ballot("choice+tie")
    seen: Counter[str] = Counter()
    for row in rows("wildvision_bench/judge_texts_sample.jsonl.gz"):
        text, stored = row["judgment"], winner(row["score"])
        ruling = kind.read(text, 2)
        if stored is not None and ruling in FAULTS:
            seen["no ruling in the text" if "[[" not in text else "other"] += 1
        else:
            seen["same" if ruling == stored or (stored is None and ruling in FAULTS) else "other"] += 1
    assert seen == {"same": 302, "no ruling in the text": 23}


def test_comparisons_of_genai_bench() -> None:
    """Seventeen judges, many weak. Where we differ from the stored vote:

    - gained: nothing was stored, but the text rules without brackets ("Model A is better");
    - menu: the judge repeated the list of options, whose first was stored;
    - last: several comparisons in the text, the first was stored, we take the last.
    """
    kind = ballot("choice+tie")
    seen: Counter[str] = Counter()
    for row in rows("genai_bench/responses_sample.jsonl.gz"):
        text, stored = row["response"], winner(row["model_vote"])
        ruling = kind.read(text, 2)
        said = re.findall(r"\[\[([^\[\]]*)\]\]", text)
        if ruling == stored or (stored is None and ruling in FAULTS):
            seen["same"] += 1
        elif stored is None:
            seen["gained"] += 1
        elif ruling in FAULTS:
            seen["menu" if len(set(said)) > 1 else "other"] += 1
        else:
            seen["last" if said and winner(said[-1]) == ruling else "other"] += 1
    assert seen == {"same": 391, "gained": 50, "menu": 14, "last": 4}
