"""`ProgramJudge`: a program as a judge. It gets a case as JSON on standard input and prints its verdict as JSON.

The case, with pictures as files in the program's working folder, which is private and deleted afterwards:

    {"protocol": 1, "case": "...", "item": "...", "trial": 0, "criterion": "overall", "ballot": "choice+tie",
     "request": "...", "turns": [{"role": "user", "parts": [{"picture": "1.png", "media_type": "image/png"},
     {"text": "..."}]}], "captions": [], "responses": [{"letter": "A", "parts": [{"text": "..."}]}, ...]}

The verdict: `marks` (a number for each response, in the order shown) or `fault` (refused, unreadable, abstained), and
optionally `text`, `steps` (what it did before, a list of texts), `confidence` (0 to 1) and `usage` (calls, tokens_in,
tokens_out, dollars).
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fullbench.core.ballot import LETTERS, Ballot, Choice
from fullbench.core.case import Case
from fullbench.core.item import WITHOUT_PICTURES, Part, Turn
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.media import Media
from fullbench.core.model_call import Call, Usage
from fullbench.core.verdict import FAULTS, Failure, Fault, Verdict
from fullbench.errors import DataWarning, InputError, ModelError
from fullbench.judges import program_supervisor
from fullbench.plugin_specs import refuse_code_in_safe_mode

PROTOCOL = 1
SECONDS, OUTPUT_BYTES, WORKERS = 60.0, 1_000_000, 4
"""Default limits on the time and the output of one case, and programs that run at the same time."""
_OPTIONS = ("args", "timeout", "output", "workers", "reference", "label")
_QUOTED = 2_000
"""Characters of an unreadable reply that are kept."""
# Larger whole numbers are not exact where JSON numbers are doubles.
_MOST_COUNT = 1 << 53


class _UnreadableReplyError(Exception):
    """The program printed something else than a verdict on this case."""


@dataclass(frozen=True, eq=False)
class ProgramJudge:
    """A judge that runs a program for every case.

    The name contains a digest of the program's file, its arguments and the files among them. Time and output limits are
    not part of it: a program that breaks them has given no verdict, and its case is due again. The same holds for a
    program that exits with an error. Anything else than a legal verdict is unreadable.
    """

    program: Path
    arguments: tuple[str, ...] = ()
    seconds: float = SECONDS
    output_bytes: int = OUTPUT_BYTES
    workers: int = WORKERS
    reference: bool = False
    label: str = ""
    _stamps: dict[Path, tuple[int, ...]] = field(default_factory=dict, init=False, repr=False)
    _warned: set[str] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.seconds <= 0 or self.output_bytes < 1 or self.workers < 1:
            raise InputError("the options timeout, output and workers of a program are numbers above 0")
        object.__setattr__(self, "program", self.program.absolute())
        object.__setattr__(self, "arguments", tuple(map(_absolute_if_file, self.arguments)))
        self.settings  # noqa: B018 (the files are read now, so that a missing one is reported before the first call)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        files = {"program": self.program, **{argument: Path(argument) for argument in self._file_arguments}}
        for path in files.values():
            self._stamps[path] = _file_stamp(path)
        return {
            "program": self.program.name,
            "arguments": [Path(text).name if text in self._file_arguments else text for text in self.arguments],
            "files": [_file_digest(path) for path in files.values()],
            "protocol": PROTOCOL,
            **({"reference": True} if self.reference else {}),
            **({"label": self.label} if self.label else {}),
        }

    @cached_property
    def name(self) -> str:
        """Return the program's name and a digest of what can change a verdict."""
        return f"{self.label or f'command:{self.program.name}'}#{digest(self.settings)[:8]}"

    @property
    def _file_arguments(self) -> list[str]:
        return [argument for argument in self.arguments if Path(argument).is_absolute() and Path(argument).is_file()]

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        """Yield one verdict or failure per case, as they arrive."""
        remaining_cases = iter(cases)
        running: set[Future[Verdict | Failure]] = set()
        more = True
        with ThreadPoolExecutor(self.workers, thread_name_prefix="fullbench-program") as pool:
            while more or running:
                while more and len(running) < self.workers:
                    case = next(remaining_cases, None)
                    if case is None:
                        more = False
                    else:
                        self._refuse_changed_files()
                        running.add(pool.submit(self._judge_case, case))
                if running:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)

    def _refuse_changed_files(self) -> None:
        """Raise if the program changed since the start: its name would no longer say what judged."""
        for path, stamp in self._stamps.items():
            if _file_stamp(path) != stamp:
                raise ModelError(f"{path} changed during the run; run the same command again")

    def _judge_case(self, case: Case) -> Verdict | Failure:
        start_time = time.monotonic()
        try:
            result = self._run(case)
        except (InputError, OSError, ValueError) as error:
            return Failure(case.key, self.name, case.trial, f"the program could not be run: {error}")
        seconds = time.monotonic() - start_time
        usage = Usage(1, dollars=None, seconds=seconds)
        if reason := self._failure_reason(result):
            return Failure(case.key, self.name, case.trial, reason, usage)
        if result["left"] and not self._warned:
            self._warned.add(case.key)
            warnings.warn(
                f"{self.name}: the program left processes running; they were stopped", DataWarning, stacklevel=2
            )
        text = base64.b64decode(result["out"]).decode("utf-8", "replace")
        try:
            return self._parse_reply(case, text, seconds)
        except _UnreadableReplyError as error:
            quoted = text[:_QUOTED] + (f" ... ({len(text):,} characters)" if len(text) > _QUOTED else "")
            said = f"{error}.\n\n{quoted}".strip()
            return self._make_verdict(case, "unreadable", said, usage)

    def _run(self, case: Case) -> dict[str, Any]:
        """Run the program on a case in a folder of its own, and return what its supervisor reports."""
        with tempfile.TemporaryDirectory(prefix="fullbench-case-", ignore_cleanup_errors=True) as folder:
            case_file = Path(folder) / "case.json"
            case_file.write_text(json.dumps(self._describe_case(case, Path(folder))), encoding="utf-8")
            is_script = self.program.suffix == ".py"
            command = [*([sys.executable] if is_script else []), str(self.program), *self.arguments]
            supervisor = [sys.executable, "-I", "-S", program_supervisor.__file__]
            limits = [str(os.getpid()), str(self.seconds), str(self.output_bytes)]
            with case_file.open("rb") as case_input:
                done = subprocess.run(  # noqa: S603 (the user named this program)
                    [*supervisor, *limits, *command], stdin=case_input, capture_output=True, cwd=folder, check=False,
                    start_new_session=True,
                )  # fmt: skip
        try:
            result: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            raise ValueError(f"its supervisor ended with code {done.returncode}") from None
        return result

    def _failure_reason(self, result: Mapping[str, Any]) -> str:
        """Return why a run gave no reply; empty if it gave one."""
        ended, code = result["ended"], result["code"]
        if ended == "time":
            return f"the program took longer than {self.seconds:g} s and was ended; ?timeout=SECONDS allows more"
        if ended == "output":
            return f"the program printed more than {self.output_bytes:,} bytes and was ended; ?output=BYTES allows more"
        if ended:
            return f"the program could not be run ({ended.removeprefix('start: ')})"
        if code == 0:
            return ""
        lines = base64.b64decode(result["err"]).decode("utf-8", "replace").strip().splitlines()
        how = f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
        return f"the program {how}{f': {lines[-1].strip()[:300]}' if lines else ' and wrote no error'}"

    def _describe_case(self, case: Case, folder: Path) -> dict[str, Any]:
        """Return the case as a JSON value, and write its pictures to the folder. No contestant is named."""
        names: dict[str, str] = {}

        def describe_part(part: Part) -> dict[str, str]:
            if isinstance(part, str):
                return {"text": part}
            if part.digest not in names:
                names[part.digest] = f"{len(names) + 1}.{_suffix(part)}"
                with (folder / names[part.digest]).open("wb") as file:
                    file.writelines(part.pieces())
            return {part.part_name: names[part.digest], "media_type": part.media_type}

        def describe_parts(parts: Sequence[Part]) -> list[dict[str, str]]:
            return [describe_part(part) for part in parts]

        def describe_turn(turn: Turn) -> dict[str, Any]:
            return {"role": turn.role, "parts": describe_parts(turn.parts)}

        item = case.item
        missing = item.tags.get(WITHOUT_PICTURES, "").splitlines()
        return {
            "protocol": PROTOCOL,
            "case": case.key,
            "item": item.key,
            "trial": case.trial,
            "criterion": case.criterion,
            "ballot": case.ballot.spec,
            "request": case.ballot.ask(len(case.responses)),
            "turns": [describe_turn(turn) for turn in item.turns_judged],
            "captions": list(item.captions),
            **({"missing_pictures": len(missing)} if missing else {}),
            **({"reference": item.reference} if self.reference else {}),
            "responses": [
                {"letter": letter, "parts": describe_parts(response.parts)}
                for letter, response in zip(LETTERS, case.responses, strict=False)
            ],
        }

    def _parse_reply(self, case: Case, text: str, seconds: float) -> Verdict:
        """Return the verdict that the program printed."""
        try:
            reply = json.loads(text)
        except (ValueError, RecursionError):
            what = "the program printed no JSON" if text.strip() else "the program printed nothing"
            raise _UnreadableReplyError(what) from None
        if not isinstance(reply, dict) or ("marks" in reply) == ("fault" in reply):
            raise _UnreadableReplyError("the program did not print an object with either 'marks' or 'fault'")
        said, steps = reply.get("text", ""), reply.get("steps", [])
        if not isinstance(said, str) or not isinstance(steps, list) or not all(isinstance(step, str) for step in steps):
            raise _UnreadableReplyError("'text' is a text and 'steps' a list of texts")
        confidence = reply.get("confidence")
        if confidence is not None and not (_is_number(confidence) and 0 <= confidence <= 1):
            raise _UnreadableReplyError(f"'confidence' is a number from 0 to 1; found {str(confidence)[:40]}")
        usage = _parse_usage(reply.get("usage", {}), seconds)
        outcome = _parse_marks(reply, case.ballot, len(case.responses))
        return self._make_verdict(case, outcome, said, usage, steps, confidence=confidence)

    def _make_verdict(
        self, case: Case, outcome: Sequence[float] | Fault, text: str, usage: Usage, steps: Sequence[str] = (),
        *, confidence: float | None = None,
    ) -> Verdict:  # fmt: skip
        """Return a verdict whose steps and text are kept as its calls, so that they are shown wherever calls are."""
        now = time.time()
        text, *steps = (words.replace("\0", "\ufffd") for words in (text, *steps))  # no database takes the character
        calls = [Call(os.urandom(16).hex(), step, at=now) for step in steps]
        calls.append(Call(os.urandom(16).hex(), text, usage=usage, at=now))
        return Verdict.from_case(
            case, self.name, outcome, text=text, usage=usage, earlier=tuple(steps), at=now, exchanges=tuple(calls),
            confidence=None if confidence is None else float(confidence),
        )  # fmt: skip


def _parse_marks(reply: Mapping[str, Any], ballot: Ballot, n: int) -> tuple[float, ...] | Fault:
    if "fault" in reply:
        fault = next((fault for fault in FAULTS if fault == reply["fault"]), None)
        if fault is None:
            raise _UnreadableReplyError(f"'fault' is one of {', '.join(FAULTS)}; found {str(reply['fault'])[:40]}")
        return fault
    marks = reply["marks"]
    if not isinstance(marks, list) or len(marks) != n or not all(map(_is_number, marks)):
        raise _UnreadableReplyError(f"'marks' has a number for each of the {n} responses; found {str(marks)[:80]}")
    values = tuple(map(float, marks))
    if isinstance(ballot, Choice) and ballot.tie and n > 1 and len(set(values)) == 1:
        return (1 / n,) * n  # a third has no exact decimals
    if not ballot.allows(values):
        raise _UnreadableReplyError(f"the marks {str(marks)[:80]} are not legal on the ballot {ballot.spec}")
    return values


def _parse_usage(usage: Any, seconds: float) -> Usage:
    """Return the reported usage; without dollars, the price is unknown."""
    if not isinstance(usage, dict):
        raise _UnreadableReplyError(f"'usage' is an object; found {str(usage)[:40]}")
    counts = {name: usage.get(name, int(name == "calls")) for name in ("calls", "tokens_in", "tokens_out")}
    for name, count in counts.items():
        if type(count) is not int or not 0 <= count < _MOST_COUNT:
            raise _UnreadableReplyError(f"'{name}' of the usage is a whole number; found {str(count)[:40]}")
    dollars = usage.get("dollars")
    if dollars is not None and not (_is_number(dollars) and dollars >= 0):
        raise _UnreadableReplyError(f"'dollars' of the usage is a number; found {str(dollars)[:40]}")
    return Usage(**counts, dollars=None if dollars is None else float(dollars), seconds=seconds)


def _is_number(value: Any) -> bool:
    """Return True for a finite number that is no truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _absolute_if_file(argument: str) -> str:
    """Return a file among the arguments as an absolute path, since the program runs in another folder."""
    return str(Path(argument).absolute()) if Path(argument).is_file() else argument


def _file_stamp(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror})") from error
    return status.st_mtime_ns, status.st_size, status.st_ino


def _file_digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"the program cannot be read ({error.strerror})", path=path) from error


def build_program_judge(argument: str, options: Mapping[str, str]) -> ProgramJudge:
    """Build the judge for `command:PROGRAM?args=...&timeout=60&output=1000000&workers=4&reference=yes`."""
    refuse_code_in_safe_mode(f"the program {argument!r}")
    for option in options:
        if option not in _OPTIONS:
            raise InputError(f"a program has no option {option!r}; known: {', '.join(_OPTIONS)}")
    if options.get("reference", "no") not in {"yes", "no"}:
        raise InputError(f"the option reference is yes or no; found {options['reference']!r}")
    try:
        arguments = shlex.split(options.get("args", ""))
    except ValueError as error:
        raise InputError(f"the option args cannot be split into arguments ({error})") from error
    return ProgramJudge(
        _find_program(argument),
        tuple(arguments),
        _number_option(options, "timeout", SECONDS),
        int(_number_option(options, "output", OUTPUT_BYTES)),
        int(_number_option(options, "workers", WORKERS)),
        options.get("reference") == "yes",
        options.get("label", ""),
    )


def _number_option(options: Mapping[str, str], name: str, default: float) -> float:
    try:
        value = float(options.get(name, default))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"the option {name} of a program is a number; found {options[name]!r}")
    return value


def _find_program(name: str) -> Path:
    if not name:
        raise InputError("which program? Write command:./judge.py, or the name of a program on the PATH")
    path = Path(name).expanduser()
    if path.is_file():
        if path.suffix != ".py" and not os.access(path, os.X_OK):
            raise InputError(f"the program is not executable; type: chmod +x {shlex.quote(name)}", path=path)
        return path
    program = shutil.which(name)
    if program is None:
        raise InputError(f"there is no program {name!r}, neither as a file nor on the PATH")
    return Path(program)


def _suffix(part: Media) -> str:
    return part.media_type.partition("/")[2].partition("+")[0] if part.kind == "image" else part.suffix
