"""What a ledger holds, with several of everything, goes out to a kind of file and comes back the same."""

from __future__ import annotations

from collections import Counter

from fullbench import Ledger
from fullbench.files.own_layout import own_record
from tests.cli.test_judge import cli
from tests.files.several import contents, rich

__all__ = ["cli"]


def test_a_hugging_face_folder_of_ours_comes_back_whole(cli, tmp_path):
    put_in = rich(tmp_path / "r.ledger")
    code, _, err = cli("export", "huggingface", "--ledger", "r.ledger", "--out", "set")
    assert (code, "4 items, 24 responses" in err) == (0, True), err
    code, _, err = cli("import", "huggingface", "set", "--out", "back")
    assert code == 0, err
    assert contents(own_record(tmp_path / "back")) == contents(put_in)
    code, _, err = cli("run", "back/study.toml", "--quiet")
    assert code == 0, err
    with Ledger(tmp_path / "back" / "study.ledger", read_only=True) as book:
        people = [verdict for verdict in book.record() if verdict.judge == "human"]
    assert Counter(people) == Counter(verdict for verdict in put_in if verdict.judge == "human")
