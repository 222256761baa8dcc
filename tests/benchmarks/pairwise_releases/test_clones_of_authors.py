"""`reproduce` from clones of WildVision-Bench and AlpacaEval in their layouts; and what list and errors say."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from fullbench.core.plugin_entry_points import load_plugin
from tests.files.test_exchange import put

LEVELS = ("B>>A", "B>A", "A=B", "A>B", "A>>B", "a whole judgment")
PROMPT = (
    "<|User Prompt|>\n{}\n\n<|The Start of Assistant A's Answer|>\n{}\n<|The End of Assistant A's Answer|>\n\n"
    "<|The Start of Assistant B's Answer|>\n{}\n<|The End of Assistant B's Answer|>"
)


def cells(cli, name: str, data: Path) -> dict[str, object]:
    code, out, err = cli("reproduce", name, "--data", data, "--json")
    assert code == 0, err
    return {cell["id"]: cell["value"] for cell in json.loads(out)["cells"]}


def test_wildvision_bench(cli, tmp_path):
    """Win rate, reward and counts by the formulas of its `show_results.py`; a judgment in place of a level is a tie."""
    bench = tmp_path / "clone" / "data" / "vision_bench_0617"
    judged = {"lab/one": LEVELS, "two": ("A>B", "B>A", "B>A", "A>>B", "A=B", "B>>A")}
    for model, levels in judged.items():
        stem = model.replace("/", "_")
        put(bench / "model_judgements" / "judge_gpt-4o_reference_base" / f"{stem}.jsonl", [
            {"question_id": f"q{n}", "model": model, "judge": "gpt-4o", "games": [
                {"user_prompt": [{"type": "text", "text": PROMPT.format(f"What {n}?", "base", model)}], "score": level}
            ]} for n, level in enumerate(levels)
        ])  # fmt: skip
        put(bench / "model_answers" / f"{stem}.jsonl", [
            {"question_id": f"q{n}", "instruction": "What?", "output": "o", "model": model, "token_len": 10 + n}
            for n in range(6)
        ])  # fmt: skip
    put(tmp_path / "clone" / "data" / "bootstrapping_results.jsonl", [{"base": 1000.0, "two": 900.0 + n}
                                                                      for n in range(3)])  # fmt: skip
    found = cells(cli, "wildvision_bench", tmp_path / "clone")
    assert found["lab/one/counts"] == [1, 1, 2, 1, 1]
    assert found["two/win_rate"] == pytest.approx(100 * 3 / 6)
    assert found["two/reward"] == pytest.approx((-50 + 50 + 50 - 100 + 0 + 100) / 6)
    # Against one baseline, the rating is the weighted share of wins: much better counts three times.
    assert found["two/score"] == pytest.approx(100 * (0 + 1 + 1 + 0 + 0.5 + 3) / (1 + 1 + 1 + 3 + 1 + 3), abs=1e-4)
    assert found["two/avg_tokens"] == 12
    assert "two/ci95" in found
    record = load_plugin("benchmarks", "wildvision_bench").record(tmp_path / "clone")
    assert {verdict.ballot for verdict in record} == {"choice:5"}
    assert sum(verdict.fault == "unreadable" for verdict in record) == 1


def test_alpaca_eval(cli, tmp_path):
    """The numbers of the leaderboards in the clone; an older tie is 0, and an empty preference counts nowhere."""
    preferences = {"m1": (1.9, 1.2, 1.6), "m2": (2, 0, None)}
    printed = {}
    for model, values in preferences.items():
        put(tmp_path / "results" / model / "weighted" / "annotations.json", [
            {"instruction": f"Say {n}", "output_1": "base", "generator_1": "base", "output_2": "x" * (5 + n),
             "generator_2": "renamed", "annotator": "renamed", "preference": value} for n, value in enumerate(values)
        ])  # fmt: skip
        shares = [(value or 1.5) - 1 for value in values if value is not None]
        printed[model] = 100 * sum(shares) / len(shares)
    place = tmp_path / "src" / "alpaca_eval" / "leaderboards" / "data_AlpacaEval_2" / "weighted_leaderboard.csv"
    place.parent.mkdir(parents=True)
    with place.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["", "win_rate", "avg_length"], *([name, value, 6] for name, value in printed.items())])
    found = cells(cli, "alpaca_eval", tmp_path)
    assert {name: found[f"weighted/{name}/win_rate"] for name in printed} == pytest.approx(printed)
    assert found["weighted/m2/counts"] == [1, 0, 1, 2]
    _, out, _ = cli("reproduce", "alpaca_eval", "--data", tmp_path)
    assert "4 of 4 printed numbers agree" in " ".join(out.split()), out
    record = load_plugin("benchmarks", "alpaca_eval").record(tmp_path)
    assert (len(record), {verdict.ballot for verdict in record}) == (5, {"real:0-1"})


def test_list_and_errors_say_what_is_read(cli, tmp_path):
    """No name promises a release that its authors did not make."""
    code, out, _ = cli("list", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["reproduce"]["wildvision_bench"] == "a clone of WildVision-AI/WildVision-Bench"
    assert "multimodal-rewardbench-2" not in told["layout not seen"]
    for name, source in told["reproduce"].items():
        assert source, name
        code, _, err = cli("reproduce", name, "--data", tmp_path)
        assert code == 2
        assert "the release has it" not in err
        assert ("not published" in source) == ("which are not published" in err), err
    _, out, _ = cli("list")
    assert "our condensed tables, which are not published" in out
    assert "Layout not seen: " in out
