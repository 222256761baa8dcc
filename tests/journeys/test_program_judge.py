"""Programs as judges, from the command line, a study file and Python, compared with an own computation on the data."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from itertools import combinations, product
from pathlib import Path
from statistics import fmean

import pytest

import fullbench
from fullbench import Case, Failure, Ledger, Response
from fullbench.core.ballot import ballot
from fullbench.errors import InputError, ModelError
from fullbench.judges.program_judge import ProgramJudge
from fullbench.studies.judge_contestant_and_benchmark_specs import judge_from_spec
from tests.support.commands import cells, read_jsonl, run_in, write_rows
from tests.support.data_builders import answers, item, png
from tests.support.wait_until import until

NAMES = ("ann", "bob", "伽马")
ITEMS = ("q0", "图1")
CRITERIA = ("overall", "style")
# A program of users knows nothing of fullbench: it reads JSON, looks at files, and prints JSON.
PROGRAM = f"""#!{sys.executable} -IS
import hashlib, json, sys

case = json.load(sys.stdin)
salt = sys.argv[1]
assert not any(name in json.dumps(case, ensure_ascii=False) for name in {NAMES!r})


def content(parts):
    words = [part.get("text") or hashlib.sha256(open(part["picture"], "rb").read()).hexdigest() for part in parts]
    return "|".join(words)


question = "|".join(content(turn["parts"]) for turn in case["turns"])


def worth(response):
    words = "|".join([salt, question, content(response["parts"]), case["criterion"], str(case["trial"])])
    return int(hashlib.sha256(words.encode()).hexdigest()[:8], 16)


worths = [worth(response) for response in case["responses"]]
kind = case["ballot"].partition(":")[0]
if kind == "score":
    marks = [1 + value % 5 for value in worths]
elif kind == "ranking":
    marks = [sorted(worths).index(value) + 1 for value in worths]
else:
    marks = [int(value == max(worths)) for value in worths]
usage = {{"calls": 2, "tokens_in": 7, "tokens_out": 3, "dollars": 0.25}}
print(json.dumps({{"marks": marks, "text": f"by {{salt}}", "steps": ["looked"], "usage": usage}}))
"""


def worth(salt: str, item_id: str, contestant: str, criterion: str, trial: int) -> int:
    """The worth of a response to a program with this salt, by the data alone."""
    place = ITEMS.index(item_id)
    picture = hashlib.sha256(png((40 * place, 9, 9))).hexdigest()
    words = "|".join([salt, f"{picture}|What of {place}?", f"{contestant[0]} says {place}", criterion, str(trial)])
    return int(hashlib.sha256(words.encode()).hexdigest()[:8], 16)


@pytest.fixture
def folder(tmp_path) -> Path:
    rows = []
    for place, name in enumerate(ITEMS):
        (tmp_path / f"{place}.png").write_bytes(png((40 * place, 9, 9)))
        rows.append({"id": name, "question": f"What of {place}?", "picture": f"{place}.png", "tags": {"label": "ann"}})
    write_rows(tmp_path / "items.jsonl", rows)
    replies = [
        {"item": name, "contestant": who, "text": f"{who[0]} says {place}"}
        for place, name in enumerate(ITEMS)
        for who in NAMES
    ]
    write_rows(tmp_path / "answers.jsonl", replies)
    (tmp_path / "judge").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "judge").chmod(0o755)
    return tmp_path


def check_marks(verdicts, salts: dict[str, str]) -> None:
    """Compare every verdict with the worths of the responses."""
    for verdict in verdicts:
        place = salts[verdict.judge], verdict.item
        worths = [worth(*place, who, verdict.criterion, verdict.trial) for who in verdict.contestants]
        kind = verdict.ballot.partition(":")[0]
        if kind == "score":
            expected = tuple(1.0 + value % 5 for value in worths)
        elif kind == "ranking":
            expected = tuple(1.0 + sorted(worths).index(value) for value in worths)
        else:
            expected = tuple(float(value == max(worths)) for value in worths)
        assert verdict.marks == expected, verdict


def test_a_study_with_two_programs_two_ballots_both_orders_and_trials(folder):
    specs = ["command:./judge?args=alpha&workers=3", "command:./judge?args=beta"]
    (folder / "study.toml").write_text(
        f'name = "s"\nitems = "items.jsonl"\nresponses = "answers.jsonl"\njudges = {json.dumps(specs)}\n'
        'ballots = ["choice+tie", "ranking"]\ntrials = 2\nledger = "s.ledger"\n',
        encoding="utf-8",
    )
    plan = run_in(folder, "run", "study.toml", "--dry-run", "--json")
    (planned,) = json.loads(plan.stdout)
    cases = len(ITEMS) * 2 * 2 * (3 + 1)  # two trials, two orders, three pairs and one ranking
    assert [row[planned["columns"].index("due")] for row in planned["rows"]] == [cases, cases, 2 * cases]
    assert {row[planned["columns"].index("dollars")] for row in planned["rows"]} == {None}
    done = run_in(folder, "run", "study.toml", "--quiet", "--json")
    assert done.returncode == 0, done.output
    with Ledger(folder / "s.ledger", read_only=True) as ledger:
        verdicts = list(ledger.verdicts())
        dollars = sum(account.usage.dollars or 0 for account in ledger.bill())
    assert (len(verdicts), dollars) == (2 * cases, 0.25 * 2 * cases)
    with_dirs = {spec: judge_in(folder, spec).name for spec in specs}
    salts = {with_dirs[specs[0]]: "alpha", with_dirs[specs[1]]: "beta"}
    assert len(salts) == 2
    check_marks(verdicts, salts)
    assert {(verdict.earlier, verdict.text[:2], verdict.usage.tokens_in) for verdict in verdicts} == {
        (("looked",), "by", 7)
    }
    shares = {
        (judge, who): fmean(
            float(worth(salt, name, who, "overall", trial) > worth(salt, name, other, "overall", trial))
            for name, trial, other in product(ITEMS, range(2), NAMES)
            if other != who
        )
        for judge, salt in salts.items()
        for who in NAMES
    }
    for judge in salts:
        boards = [table for name, table in done.tables.items() if name.startswith(f"leaderboard {judge}")]
        assert boards
        for board in boards:
            expected = {who: shares[judge, who] for who in NAMES}
            assert cells(board, "matches won", "contestant") == pytest.approx(expected)
    again = run_in(folder, "run", "study.toml", "--quiet")
    assert f"Called 0, reused {2 * cases}" in again.output


def judge_in(folder: Path, spec: str) -> ProgramJudge:
    before = Path.cwd()
    os.chdir(folder)
    try:
        judge = judge_from_spec(spec)
    finally:
        os.chdir(before)
    assert isinstance(judge, ProgramJudge)
    return judge


def test_the_command_line_with_criteria_ends_in_the_same_means_as_the_data(folder):
    done = run_in(
        folder, "judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "score:1-5",
        "--judge", "command:./judge?args=alpha", "--criterion", "overall", "--criterion", "style", "--quiet", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.output
    for criterion in CRITERIA:
        (board,) = [
            table
            for name, table in done.tables.items()
            if name.startswith("leaderboard") and ((" on style" in name) == (criterion == "style"))
        ]
        expected = {who: fmean(1 + worth("alpha", name, who, criterion, 0) % 5 for name in ITEMS) for who in NAMES}
        assert cells(board, "mean score:1-5", "contestant") == pytest.approx(expected)


def test_python_gives_the_same_marks_and_the_steps_are_shown_and_exported(folder, monkeypatch):
    monkeypatch.chdir(folder)
    record = fullbench.judge("items.jsonl", "answers.jsonl", judge="command:./judge?args=alpha", ballot="choice")
    assert len(record) == len(ITEMS) * 2 * len(list(combinations(NAMES, 2)))
    check_marks(record, {record.verdicts[0].judge: "alpha"})
    shown = run_in(folder, "show", record.verdicts[0].case).stdout
    assert shown.index("looked") < shown.index("by alpha")
    run_in(folder, "ledger", "export", "--to", "v.jsonl")
    assert all((row["earlier"], row["text"]) == (["looked"], "by alpha") for row in read_jsonl(folder / "v.jsonl"))


# What a bad program does, and the sentence that says so: of a failed call, or of an unreadable verdict.
FAILED = {
    "import time; time.sleep(60)": "the program took longer than 1 s and was ended",
    "while True: print('x' * 9999)": "the program printed more than 50,000 bytes and was ended",
    "import sys; print('[]'); sys.exit('no key is set')": "the program exited with code 1: no key is set",
    "import os; os.kill(os.getpid(), 11)": "the program was ended by signal 11",
}
UNREADABLE = {
    "print('The first one is better.')": "the program printed no JSON",
    "pass": "the program printed nothing",
    "import sys; sys.stdout.buffer.write(bytes(range(256)))": "the program printed no JSON",
    "print('[' * 40000)": "the program printed no JSON",
    "print('[1, 0]')": "either 'marks' or 'fault'",
    "print('{}')": "either 'marks' or 'fault'",
    "print('{\"marks\": [1]}')": "'marks' has a number for each of the 2 responses; found [1]",
    "print('{\"marks\": [true, false]}')": "'marks' has a number for each of the 2 responses",
    "print('{\"marks\": [NaN, 0]}')": "'marks' has a number for each of the 2 responses",
    "print('{\"marks\": [1' + '0' * 400 + ', 0]}')": "'marks' has a number for each of the 2 responses",
    "print('{\"marks\": [3, 0]}')": "the marks [3, 0] are not legal on the ballot choice+tie",
    'print(\'{"fault": "tired"}\')': "'fault' is one of refused, unreadable, abstained; found tired",
    'print(\'{"marks": [1, 0], "usage": {"calls": -1}}\')': "'calls' of the usage is a whole number; found -1",
    'print(\'{"marks": [1, 0], "usage": {"dollars": "3"}}\')': "'dollars' of the usage is a number",
    'print(\'{"marks": [1, 0], "confidence": 7}\')': "'confidence' is a number from 0 to 1; found 7",
    'print(\'{"marks": [1, 0], "text": 7}\')': "'text' is a text",
}


def program(folder: Path, code: str, **options: object) -> ProgramJudge:
    path = folder / f"{hashlib.sha256(code.encode()).hexdigest()[:8]}.py"
    path.write_text(code, encoding="utf-8")
    return ProgramJudge(path, **options)  # type: ignore[arg-type]


def a_case(ballot_spec: str = "choice+tie", count: int = 2) -> Case:
    texts = {f"c{place}": f"text {place}" for place in range(count)}
    return Case(item(), answers(**texts), ballot(ballot_spec))


def test_a_bad_program_gets_one_sentence(tmp_path):
    for code, sentence in FAILED.items():
        (outcome,) = program(tmp_path, code, seconds=1.0, output_bytes=50_000).judge([a_case()])
        assert isinstance(outcome, Failure)
        assert outcome.error.startswith(sentence), outcome.error
        assert (outcome.kind, outcome.usage.dollars) == ("passing", None)
    for code, sentence in UNREADABLE.items():
        (outcome,) = program(tmp_path, code).judge([a_case()])
        assert not isinstance(outcome, Failure)
        assert (outcome.fault, outcome.usage.calls) == ("unreadable", 1)
        assert sentence in outcome.text.partition("\n")[0], outcome.text


def test_faults_and_shared_ties_are_taken_as_they_are(tmp_path):
    tied = program(tmp_path, 'print(\'{"marks": [0.33, 0.33, 0.33], "confidence": 0.5}\')')
    (outcome,) = tied.judge([a_case(count=3)])
    assert (outcome.marks, outcome.confidence, outcome.usage.dollars) == ((1 / 3,) * 3, 0.5, None)
    (declined,) = program(tmp_path, 'print(\'{"fault": "refused", "text": "no"}\')').judge([a_case()])
    assert (declined.fault, declined.text) == ("refused", "no")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes that left their group are found by /proc")
def test_processes_that_stay_are_ended_and_the_verdict_counts(tmp_path):
    code = (
        "import subprocess, sys, time\n"
        "for new in (False, True):\n    subprocess.Popen(['sleep', '987'], start_new_session=new)\n"
        "    subprocess.Popen([sys.executable, '-ISc', \"import subprocess; subprocess.Popen(['sleep', '987'])\"])\n"
        "time.sleep(0.2)\nprint('{\"marks\": [1, 0]}')"
    )
    judge = program(tmp_path, code)
    with pytest.warns(fullbench.errors.DataWarning, match="left processes running; they were stopped"):
        (outcome,) = judge.judge([a_case()])
    assert outcome.marks == (1.0, 0.0)
    assert not running("sleep\0987")


def running(words: str) -> list[str]:
    """The processes of this machine whose command line holds these words."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if words.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def test_nothing_is_lost_if_some_cases_fail_and_the_next_run_asks_for_these_alone(folder):
    code = (
        "import json, os, sys\ncase = json.load(sys.stdin)\n"
        "if 'b says' in case['responses'][0]['parts'][0]['text'] and not os.path.exists(sys.argv[1]):\n"
        "    sys.exit('not yet')\nprint(json.dumps({'marks': [4]}))\n"
    )
    (folder / "late.py").write_text(code, encoding="utf-8")
    words = (
        "judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "score:1-5", "--judge",
        f"command:./late.py?args={folder / 'ready'}", "--quiet",
    )  # fmt: skip
    first = run_in(folder, *words)
    assert first.returncode == 1
    assert "2 failed: the program exited with code 1: not yet" in first.output
    assert "2 verdicts are missing" in first.output
    (folder / "ready").mkdir()
    second = run_in(folder, *words)
    assert second.returncode == 0, second.output
    assert "Called 2, reused 4, failed 0" in second.output


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks processes up in /proc")
def test_a_killed_run_leaves_no_program_and_the_next_one_goes_on(folder):
    code = "import os, sys, time\nos.path.exists(sys.argv[1]) or time.sleep(300)\nprint('{\"marks\": [2]}')\n"
    (folder / "slow.py").write_text(code, encoding="utf-8")
    words = [
        "judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "score:1-5", "--judge",
        f"command:./slow.py?args={folder / 'ready'}", "--quiet",
    ]  # fmt: skip
    place = f"{folder}/slow.py"
    start = [sys.executable, "-m", "fullbench", *words]
    run = subprocess.Popen(start, cwd=folder, env={**os.environ, "TMPDIR": str(folder)})
    until(lambda: len(running(place)) >= 2)
    run.send_signal(signal.SIGKILL)
    run.wait()
    until(lambda: not running(place))
    until(lambda: not list(folder.glob("fullbench-case-*")))
    (folder / "ready").mkdir()
    again = run_in(folder, *words)
    assert "Called 6, reused 0, failed 0" in again.output


def test_the_name_changes_with_the_program_and_with_files_among_its_arguments(tmp_path):
    (tmp_path / "rules.txt").write_text("one", encoding="utf-8")
    judge = program(tmp_path, "print(1)", arguments=(str(tmp_path / "rules.txt"),))
    same = ProgramJudge(judge.program, judge.arguments, seconds=5.0, workers=1)
    assert same.name == judge.name
    (tmp_path / "rules.txt").write_text("two", encoding="utf-8")
    assert ProgramJudge(judge.program, judge.arguments).name != judge.name
    judge.program.write_text("print(2)  # longer", encoding="utf-8")
    with pytest.raises(ModelError, match="changed during the run"):
        list(judge.judge([a_case()]))


def test_pictures_of_responses_are_files_and_a_reference_is_shown_only_on_request(tmp_path):
    code = "import json, sys\ncase = json.load(sys.stdin)\nimport os\ncase['files'] = sorted(os.listdir())\n" \
        "print(json.dumps({'marks': [1, 0], 'text': json.dumps(case)}))"  # fmt: skip
    shown = item(reference="red")
    responses = tuple(Response(shown.id, name, (f"like {name}", *shown.pictures)) for name in "ab")
    case = Case(shown, responses, ballot("choice"))
    for reference in (False, True):
        (outcome,) = program(tmp_path, code, reference=reference).judge([case])
        described = json.loads(outcome.text)
        assert described["files"] == ["1.png", "case.json"]
        assert described.get("reference") == ("red" if reference else None)
        assert [part["picture"] for response in described["responses"] for part in response["parts"][1:]] == [
            "1.png"
        ] * 2
        assert shown.id not in json.dumps({**described, "turns": []})


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("command:", "which program"),
        ("command:./absent", "there is no program './absent'"),
        ("command:./plain", "is not executable; type: chmod +x ./plain"),
        ("command:./late.py?speed=9", "a program has no option 'speed'"),
        ("command:./late.py?timeout=soon", "the option timeout of a program is a number; found 'soon'"),
        ("command:./late.py?timeout=nan", "the option timeout of a program is a number; found 'nan'"),
        ("command:./late.py?workers=0", "numbers above 0"),
        ("command:./late.py?reference=maybe", "the option reference is yes or no"),
        ("command:./late.py?args='", "cannot be split into arguments"),
    ],
)
def test_a_mistyped_spec_is_refused(tmp_path, monkeypatch, spec, why):
    monkeypatch.chdir(tmp_path)
    for name in ("plain", "late.py"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=why.replace("?", r"\?").replace("+", r"\+")):
        judge_from_spec(spec)


def test_a_server_runs_no_program_that_it_was_not_started_with(folder, monkeypatch):
    from fullbench.web.results.actions.rejudge_requests import judge_from

    monkeypatch.chdir(folder)
    spec = "command:./judge?args=alpha"
    name = judge_from_spec(spec).name
    assert judge_from(spec, name, [spec]).name == name
    for allowed in ([], ["command:./judge"]):
        with pytest.raises(InputError, match="runs code on this server, which was not started with it"):
            judge_from(spec, name, allowed)
    with pytest.raises(InputError, match="runs code on this server"):
        judge_from("scorer:os:remove", "scorer:os:remove", [])


def test_a_budget_says_that_it_counts_only_reported_dollars(folder):
    done = run_in(
        folder, "judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "score:1-5",
        "--judge", "command:./judge?args=alpha&workers=1", "--budget", "0.6", "--quiet",
    )  # fmt: skip
    assert "the budget counts only the dollars it reports" in done.output
    assert "the budget of $0.6 is spent" in done.output
    with Ledger(folder / "fullbench.ledger", read_only=True) as ledger:
        assert 1 <= len(list(ledger.verdicts())) <= 3
