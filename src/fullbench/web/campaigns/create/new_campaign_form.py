"""The form of a new study: fields, files, and pictures that the files name.

Files come from outside, so a name in them may only be that of a picture sent along: never a path.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fastapi import Request
from starlette.datastructures import UploadFile

from fullbench.core.note import Note, word
from fullbench.errors import InputError
from fullbench.files.item_files import read_rows
from fullbench.ledger.ledger import Ledger
from fullbench.web import picture_serving
from fullbench.web.accounts.users import User
from fullbench.web.campaigns.campaigns import Plan
from fullbench.web.campaigns.create import chunked_upload
from fullbench.web.campaigns.create.campaign_from_data import Material
from fullbench.web.campaigns.tasks.task_conflicts import EVERY
from fullbench.web.campaigns.tasks.task_kinds import Write
from fullbench.web.picture_serving import Checked
from fullbench.web.site_settings import Settings
from fullbench.web.words import key

FILES = ("items", "responses", "queue", "gold", "qualify", "apart")
SWITCHES = ("reason", "reference", "confirm", "assigned", "results")
"""Options that a form switches on."""
TABLES = chunked_upload.ROWS[1:]
"""What a file of rows may be besides JSON lines."""
NAMING = {"picture", "pictures", "image", "images", "path"}
PARTS = ("turns", "parts")


@dataclass(frozen=True)
class SentFile:
    """A file of rows as it came: JSON lines, or a table where its name says so."""

    name: str
    data: bytes

    @property
    def is_table(self) -> bool:
        return Path(self.name.lower()).suffix in TABLES


@dataclass(frozen=True)
class Sent:
    """A form as it came."""

    fields: dict[str, str]
    files: dict[str, SentFile]
    pictures: dict[str, bytes]


async def sent(request: Request) -> Sent:
    """Read the form; the size of the whole is bounded by the site's limit on bodies."""
    form = await request.form()
    fields: dict[str, str] = {}
    files: dict[str, SentFile] = {}
    shown: dict[str, bytes] = {}
    for name, value in form.multi_items():
        if isinstance(value, str):
            fields[name] = value
        elif isinstance(value, UploadFile) and value.filename:
            if name == "pictures":
                shown[value.filename] = await value.read()
            elif name in FILES:
                files[name] = SentFile(value.filename, await value.read())
    await form.close()
    return Sent(fields, files, shown)


def plan(fields: Mapping[str, str]) -> Plan:
    """The plan that a form's fields give."""
    kind = fields.get("kind", "")
    options: dict[str, Any] = {name: True for name in SWITCHES if fields.get(name)}
    if paper := fields.get("paper", "").strip():
        options["paper"] = paper
    if pay := fields.get("pay", "").strip():
        options["pay"] = wage(pay)
    if kind == "write":
        asked = [name for name in Write.asks if fields.get(f"asks_{name}")] or list(Write.usual)
        options["asks"] = [*asked, *([Write.brings] if fields.get(f"asks_{Write.brings}") else [])]
    return Plan(
        fields.get("name", ""),
        kind,
        ballot=fields.get("ballot", "").strip(),
        criterion=fields.get("criterion", "").strip() or "overall",
        guidelines=fields.get("guidelines", ""),
        options=options,
        votes=_whole(fields, "votes", 1),
        most=_whole(fields, "most", 0),
        settled_by="all" if fields.get("settled_by") == "all" else "majority",
        lease_seconds=60 * _whole(fields, "lease_minutes", 30),
        gold_every=_whole(fields, "gold_every", 10),
        pass_share=_whole(fields, "pass_percent", 70) / 100,
        seed=_whole(fields, "seed", 0),
    )


def wage(text: str) -> float:
    """A pay for an hour's work, in whatever money."""
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 <= amount <= 10_000:
        raise InputError(key("The pay for an hour is a number from 0 to 10,000."))
    return amount


def _whole(fields: Mapping[str, str], name: str, default: int) -> int:
    text = fields.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        raise InputError(
            Note(
                "web.wrong.is-a-whole-number-found",
                "{name} is a whole number; found {text!r}",
                name=name.replace("_", " "),
                text=text[:20],
            )
        )
    return int(text)


@dataclass(frozen=True)
class Unpacked:
    """The files of a form where they can be read, and the pictures that were looked at before."""

    files: dict[str, Path]
    checked: dict[str, Checked]


@contextmanager
def unpacked(form: Sent, settings: Settings, user: User, *, looked_at: bool = False) -> Iterator[Unpacked]:
    """The files in a folder of their own while they are read, pictures beside them; errors do not say where.

    A parcel is thrown away when all of it is taken in, and stays where it is only `looked_at`.
    """
    parcel = form.fields.get("parcel", "").strip()
    with tempfile.TemporaryDirectory(prefix="fullbench-") as name:
        try:
            if parcel:
                folder = chunked_upload.folder_of(settings, user, parcel)
                yield _of_parcel(folder, form, settings)
                if not looked_at:
                    chunked_upload.forget(folder)
            else:
                yield Unpacked(_of_form(Path(name), form, settings), {})
        except InputError as error:
            if error.path is None:
                raise
            raise InputError(str(error).replace(f"{error.path.parent}/", "")) from error


def _of_form(folder: Path, form: Sent, settings: Settings) -> dict[str, Path]:
    for picture, data in form.pictures.items():
        _check_name(picture)
        if len(data) > settings.picture_limit:
            raise InputError(
                Note(
                    "web.wrong.the-picture-has-bytes-are",
                    "the picture {picture!r} has {n:,} bytes; {picture_limit:,} are allowed",
                    picture=picture,
                    n=len(data),
                    picture_limit=settings.picture_limit,
                )
            )
        (folder / f"p-{picture}").write_bytes(data)
    known = {picture: f"p-{picture}" for picture in form.pictures}
    return {kind: _lines(folder / f"{kind}.jsonl", kind, file, known) for kind, file in form.files.items()}


def _of_parcel(folder: Path, form: Sent, settings: Settings) -> Unpacked:
    """The files of a parcel; those that the form brought itself stand in place of those of the same name.

    Pictures are looked at here, before the database is asked for its turn: many of them take minutes.
    """
    home = chunked_upload.unpacked(folder, settings.parcel_limit)
    every = {str(path.relative_to(home)): path for path in home.rglob("*") if path.is_file()}
    known = {name: name for name in every}
    rows = {kind: chunked_upload.rows_file(home, kind) for kind in FILES}
    there = {kind: SentFile(path.name, path.read_bytes()) for kind, path in rows.items() if path} | form.files
    named: set[str] = set()
    files = {kind: _lines(home / f".fullbench-{kind}.jsonl", kind, file, known, named) for kind, file in there.items()}
    checked: dict[str, Checked] = {}
    store = picture_serving.uploads_folder(settings)
    for name in sorted(named):
        if every[name].stat().st_size > settings.picture_limit:
            raise InputError(key("The picture has too many bytes."))
        inspected = picture_serving.checked(every[name].read_bytes(), settings)
        store.keep(inspected.picture)
        stored = store.find(inspected.picture.digest, inspected.picture.media)
        checked[stored.digest] = replace(inspected, picture=stored)
    return Unpacked(files, checked)


def _lines(path: Path, kind: str, file: SentFile, known: Mapping[str, str], named: set[str] | None = None) -> Path:
    """One JSON object a line, pictures named as they lie in the folder; `named` notes which of them are."""
    noted = set() if named is None else named
    rows = _table_rows(path.with_name(f"sent-{kind}.table"), file) if file.is_table else _json_rows(kind, file.data)
    with path.open("w", encoding="utf-8") as out:
        for number, row in rows:
            renamed = _Renamed(known, noted, kind, number).value(row)
            out.write(json.dumps(renamed, ensure_ascii=True) + "\n")
    return path


def _json_rows(kind: str, data: bytes) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                Note(
                    "web.wrong.line-of-the-is-not",
                    "line {number} of the {kind} is not JSON: each line is one object (tables are named .csv or .tsv)",
                    number=number,
                    kind=word(kind),
                )
            ) from error


def _table_rows(path: Path, file: SentFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a table; a cell that is JSON is a list or an object, and one that is empty is not there."""
    path = path.with_suffix(Path(file.name.lower()).suffix)
    path.write_bytes(file.data)
    for number, row in read_rows(path):
        yield number, {name: _cell(value) for name, value in row.items() if value not in {None, ""}}


def _cell(text: str) -> Any:
    if not text.startswith(("[", "{")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@dataclass(frozen=True)
class _Renamed:
    """A row with its pictures named as they lie in the folder."""

    known: Mapping[str, str]
    noted: set[str]
    kind: str
    line: int

    def value(self, value: Any, naming: bool = False) -> Any:
        if isinstance(value, dict):
            if packed := [name for name in PARTS if isinstance(value.get(name), str)]:
                raise InputError(
                    Note(
                        "web.wrong.line-of-the-has-as",
                        "line {line} of the {kind} has {packed!r} as a text; write it as a list",
                        line=self.line,
                        kind=word(self.kind),
                        packed=packed[0],
                    )
                )
            return {name: self.value(inner, naming or name in NAMING) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.value(inner, naming) for inner in value]
        if naming and isinstance(value, str):
            if value not in self.known:
                raise InputError(
                    Note(
                        "web.wrong.line-of-the-names-the",
                        "line {line} of the {kind} names the picture {value!r}, which was not sent along",
                        line=self.line,
                        kind=word(self.kind),
                        value=value[:80],
                    )
                )
            self.noted.add(value)
            return self.known[value]
        return value


def _check_name(name: str) -> None:
    if "/" in name or "\\" in name or "\x00" in name or len(name.encode("utf-8", "replace")) > 200:
        raise InputError(
            Note("web.wrong.a-picture-has-a-plain", "a picture has a plain file name; found {name!r}", name=name[:80])
        )


def asking_of(kind: str, asks: Sequence[str], *, own_pictures: bool) -> dict[str, Any]:
    """The option of a study in which people write: what is asked for, where that is not the usual."""
    if not own_pictures and not asks:
        return {}
    if kind != Write.name:
        raise InputError(
            key("people bring pictures of their own where they write: the kind write")
            if own_pictures
            else f"--asks says what people write in a study of the kind write; found the kind {kind}"
        )
    if unknown := [name for name in asks if name not in Write.asks]:
        raise InputError(f"people are asked for {', '.join(Write.asks)}; found {unknown[0]!r}")
    wanted = [name for name in Write.asks if name in asks] or list(Write.usual)
    return {"asks": [*wanted, *([Write.brings] if own_pictures else [])]}


def material(fields: Mapping[str, str], sent_files: Unpacked, ledger: Ledger | None) -> Material:
    """What the study is made of: the files, or the site's ledger where no items were sent."""
    files = sent_files.files
    others = (EVERY,) if fields.get("apart_every") else (fields.get("apart_from", "").strip(),)
    listed = tuple(name.strip() for name in fields.get("contestants", "").split(",") if name.strip())
    judges = tuple(name.strip() for name in fields.get("judges", "").split(",") if name.strip())
    return Material(
        items=files.get("items"),
        responses=(files["responses"],) if "responses" in files else (),
        queue=files.get("queue"),
        ledger=None if "items" in files else ledger,
        contestants=listed,
        judges=judges,
        gold=files.get("gold"),
        qualify=files.get("qualify"),
        apart=files.get("apart"),
        apart_by=fields.get("apart_by", "").strip(),
        per_item=_whole(fields, "per_item", 0),
        limit=_whole(fields, "limit", 0),
        apart_from=tuple(name for name in others if name),
        ledger_study=fields.get("ledger_study", "").strip(),
        unverified=bool(fields.get("unverified")),
        with_reference=bool(fields.get("with_reference")),
        by_gain=bool(fields.get("by_gain")),
        checked=sent_files.checked,
    )
