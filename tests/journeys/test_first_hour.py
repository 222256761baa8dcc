"""The first hour: a study written after four questions, a server that is checked, keys in `.env`, and a first run."""

from __future__ import annotations

import json

import pytest
from PIL import Image

from fullbench.errors import ModelError
from fullbench.models.model_settings import Key
from tests.support.colour_server import TinyServer


def cells(out: str) -> list[dict]:
    (table,) = json.loads(out)
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def test_check_says_what_works_and_what_does_not(cli):
    with TinyServer() as server:
        code, out, err = cli("check", server.url, "--json")
        (row,) = cells(out)
        assert code == 0, err
        assert "serves 1: tiny" in err
        assert [row[name] for name in ("answers", "pictures", "JSON", "logprobs")] == ["yes"] * 4
        assert row["rate limits per minute"] == "600 requests"
        assert (row["$ in"], row["$ out"]) == (0, 0)
    blind = TinyServer(lambda *_: "I cannot see pictures.", models=("other",), logprobs=False)
    with blind as server:
        code, out, err = cli("check", f"openai:other@{server.url}", "--json")
        (row,) = cells(out)
        assert (code, row["pictures"], row["JSON"], row["logprobs"]) == (0, "no", "no", "no")
        assert "it did not recognise the picture" in err
        code, out, err = cli("check", f"openai:nobody@{server.url}", "--json")
        assert (code, cells(out)[0]["answers"]) == (1, "no")
        assert "it lists other" in err
    code, _, err = cli("check", server.url)
    assert (code, "Is the server running" in err) == (2, True), "it is gone now"
    assert cli("check", "length")[0] == 0


def test_init_check_run(cli, tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for number, colour in enumerate(("red", "green", "blue")):
        Image.new("RGB", (20, 20), colour).save(folder / f"{number}.png")

    def replies(words: str, pictures: list[bytes], body: dict) -> str:
        return "[[A]]" if "ruling" in words else f"{body['model']} sees {len(pictures)}"

    with TinyServer(replies, models=("one", "two", "judge")) as server:
        spec = "openai:{}@" + server.url
        code, _, err = cli(
            "init", "--items", "photos", "--question", "什么颜色？", "--contestant", spec.format("one"),
            "--contestant", spec.format("two"), "--judge", spec.format("judge"), "--judge", "length",
            "--ballot", "choice+tie",
        )  # fmt: skip
        assert code == 0, err
        text = (tmp_path / "study.toml").read_text(encoding="utf-8")
        assert "什么颜色？" in text
        assert text.count("#") > 8, "it explains itself"
        code, out, err = cli("check", "study.toml", "--json")
        assert (code, len(cells(out))) == (0, 3), err
        assert "3 items, 0 responses, 0 labels read" in err
        code, _, err = cli("run", "study.toml", "--limit", 1, "--quiet")
        assert "Called 6" in err, "2 answers; 2 judges with 2 orders of a pair"
        code, _, err = cli("run", "study.toml", "--quiet")
        assert "reused 6" in err
    assert (tmp_path / "report.html").exists()
    assert cli("init")[0] == 2, "exists already"
    code, _, err = cli("init", "other.toml")
    assert (code, "Add --items" in err) == (2, True)
    words = ("--items", "a.csv", "--responses", "r.csv", "--judge", "opneai:x", "--ballot", "choice")
    code, _, err = cli("init", "bad.toml", *words)
    assert code == 2
    assert not (tmp_path / "bad.toml").exists()


def test_keys_in_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    key = Key(("OPENAI_API_KEY",))
    with pytest.raises(ModelError, match=r"write it into a file \.env here"):
        key.read(is_required=True, server="the server")
    (tmp_path / ".env").write_text("# mine\nexport OPENAI_API_KEY='sk-from-file' # no more\nPATH=/nowhere\n")
    assert key.read(is_required=True, server="the server") == "sk-from-file"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-shell")
    assert key.read(is_required=True, server="the server") == "sk-from-shell", "the environment comes first"


@pytest.mark.slow
def test_demo_fits_on_a_screen_and_says_what_is_next(cli):
    code, out, err = cli("demo", "--quiet")
    assert code == 0
    said = err[: err.index("Page with all")]
    assert len((out + said).splitlines()) <= 40
    films = {line.split()[0]: line for line in out[out.index("Do the judges watch?") :].splitlines()[4:]}
    assert [line.split()[-1] for line in films.values()] == ["1.00", "0.50", "0.50"]
    assert [*films] == ["accurate", "first-frame", "blind"]
    assert [line.split()[1] for line in err.splitlines() if line.startswith("  fullbench")] == [
        "report",
        "audit",
        "init",
    ]
