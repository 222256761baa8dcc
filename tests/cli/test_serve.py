"""`fullbench serve` as a newcomer meets it: a link at the first start, one sentence for each mistake, a clean stop."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import run_in
from tests.support.ports import free_port
from tests.web.conftest import start_live

FULLBENCH = str(Path(sys.executable).with_name("fullbench"))


def test_the_first_start_gives_a_link_and_ctrl_c_ends_it(tmp_path):
    live = start_live(tmp_path, "--workers", "1", forked=False)
    beside = [FULLBENCH, "serve", "--invite", "annotator", "--database", live.settings.database]
    invited = subprocess.run(beside, capture_output=True, text=True, timeout=120)
    assert re.fullmatch(rf"{live.url}/join/[\w-]{{43}}\n", invited.stdout), "the address of the site that runs"
    live.process.send_signal(signal.SIGINT)
    live.process.wait(timeout=120)
    live.engine.dispose()
    log = (tmp_path / "log").read_text()
    assert f"Listening on {live.url}" in log
    assert re.search(rf"{live.url}/join/[\w-]{{43}}", log)
    assert "Traceback" not in log


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--host", "0.0.0.0"], "add --url https://"),
        (["--url", "bench.example.org"], "is not the address of a site"),
        (["--url", "https://example.org/bench"], "needs its own host name"),
        (["--invite", "emperor"], "the role 'emperor' is not known"),
        (["--ledger", "nothing.ledger"], "There is no ledger 'nothing.ledger'"),
        (["--ledger", "broken.ledger"], "broken.ledger: "),
        (["--database", "mysql://x"], "unknown database 'mysql'"),
        (["--names", "names.toml"], "names.toml: 'a' and 'b' would both be shown as '甲'"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, options, says):
    (tmp_path / "broken.ledger").write_text("this is no ledger")
    (tmp_path / "names.toml").write_text('[a]\nname = "甲"\n[b]\nname = "甲"\n', encoding="utf-8")
    done = run_in(tmp_path, "serve", "--port", free_port(), *options)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_invitation_and_a_check_leave_at_once(tmp_path):
    made = run_in(tmp_path, "serve", "--invite", "annotator", "--url", "https://bench.example.org/")
    assert re.fullmatch(r"https://bench\.example\.org/join/[\w-]{43}\n", made.stdout)
    (tmp_path / "names.toml").write_text('[a]\nname = "甲"\n', encoding="utf-8")
    checked = run_in(tmp_path, "serve", "--check", "--names", "names.toml")
    assert checked.returncode == 0
    assert "is up to date" in checked.stderr
    assert "1 of the 1 name in names.toml is of nobody in the ledger so far: a." in checked.stderr


def test_a_port_in_use_is_one_sentence(tmp_path):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [FULLBENCH, "serve", "--port", str(taken.getsockname()[1])]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "is in use" in done.stderr
    assert "Traceback" not in done.stderr
