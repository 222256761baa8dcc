"""Small files of scored answers."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import write_rows as write


def files(folder: Path, count: int = 24, reasons: bool = False) -> dict[str, Path]:
    """Answers whose score is in their words: `good` is 5, `bad` is 1; two contestants, in two languages."""
    items, responses, labels = [], [], []
    for number in range(count):
        name = f"i{number}"
        items.append({"id": name, "question": f"图片 {number}: what colour is square {number}?", "reference": "红 red"})
        for who, text, mark in (("ann", "good right answer", 5), ("bob", "bad wrong 坏", 1)):
            responses.append({"item": name, "contestant": who, "text": f"{text} {number}"})
            row = {"item": name, "contestant": who, "score": mark, "ballot": "score:1-5"}
            labels.append({**row, "text": f"it is {text}"} if reasons else row)
    return {
        "items": write(folder / "items.jsonl", items),
        "responses": write(folder / "responses.jsonl", responses),
        "labels": write(folder / "labels.jsonl", labels),
    }


def options(made: dict[str, Path]) -> list[str]:
    return [word for name, path in made.items() for word in (f"--{name}", str(path))]
