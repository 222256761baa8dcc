"""Form of a new campaign: fields, files, and the pictures and other media that the files name.

Files come from untrusted users, so a name in them may only be that of a file in the same request, never a path.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from fastapi import Request
from starlette.datastructures import UploadFile

from fullbench.core.media import PART_NAMES, kind_of, recognise_type
from fullbench.core.translatable_note import Note, word_note
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import MEDIA
from fullbench.files.row_readers import read_rows
from fullbench.ledger.ledger import Ledger
from fullbench.web import media_serving, picture_checks_storage_and_serving
from fullbench.web.accounts.users import User
from fullbench.web.campaigns.campaigns import CampaignPlan
from fullbench.web.campaigns.create import chunked_upload
from fullbench.web.campaigns.create.campaign_from_data import Material
from fullbench.web.campaigns.tasks.mutually_exclusive_tasks import EVERY
from fullbench.web.campaigns.tasks.task_kinds import Write
from fullbench.web.picture_checks_storage_and_serving import CheckedPicture
from fullbench.web.site_settings_and_worker_transfer import Settings
from fullbench.web.words import key

FILES = ("items", "responses", "queue", "gold", "qualify", "separate")
SWITCHES = ("reason", "reference", "confirm", "assigned", "results", "show_pay")
TABLES = chunked_upload.ROWS[1:]
"""Suffixes of row files other than JSON lines."""
NAMING = {"path", *PART_NAMES.values(), *MEDIA, *(name for names in MEDIA.values() for name in names)}
"""Columns and parts whose values are names of files."""
PARTS = ("turns", "parts")


@dataclass(frozen=True)
class SubmittedFile:
    """Submitted file of rows: JSON lines, or a table if its suffix says so."""

    name: str
    data: bytes

    @property
    def is_table(self) -> bool:
        return Path(self.name.lower()).suffix in TABLES


@dataclass(frozen=True)
class SubmittedForm:
    """Submitted form: fields, files and pictures."""

    fields: dict[str, str]
    files: dict[str, SubmittedFile]
    pictures: dict[str, bytes]


async def read_submitted_form(request: Request) -> SubmittedForm:
    """Read the form; the site's limit on request bodies bounds its size."""
    form = await request.form()
    fields: dict[str, str] = {}
    files: dict[str, SubmittedFile] = {}
    pictures: dict[str, bytes] = {}
    for name, value in form.multi_items():
        if isinstance(value, str):
            fields[name] = value
        elif isinstance(value, UploadFile) and value.filename:
            if name == "pictures":
                pictures[value.filename] = await value.read()
            elif name in FILES:
                files[name] = SubmittedFile(value.filename, await value.read())
    await form.close()
    # Files chosen under another source than the one selected are hidden on the page, so they must not be used.
    source = fields.get("source")
    if source in {"ledger", "upload"}:
        files = {name: file for name, file in files.items() if name not in {"items", "responses"}}
    if source in {"ledger", "files"}:
        fields.pop("upload", None)
    return SubmittedForm(fields, files, pictures)


def parse_plan(fields: Mapping[str, str]) -> CampaignPlan:
    """Build the plan from the form's fields."""
    kind = fields.get("kind", "")
    options: dict[str, Any] = {name: True for name in SWITCHES if fields.get(name)}
    if paper := fields.get("paper", "").strip():
        options["paper"] = paper
    if pay := fields.get("pay", "").strip():
        options["pay"] = parse_wage(pay)
    if deadline := parse_deadline(fields.get("deadline", "")):
        options["deadline"] = deadline
    if kind == "write":
        requested_texts = [name for name in Write.texts if fields.get(f"texts_{name}")] or list(Write.usual)
        options["texts"] = [*requested_texts, *([Write.brings] if fields.get(f"texts_{Write.brings}") else [])]
    return CampaignPlan(
        fields.get("name", ""),
        kind,
        ballot=fields.get("ballot", "").strip(),
        criterion=fields.get("criterion", "").strip() or "overall",
        guidelines=fields.get("guidelines", ""),
        options=options,
        votes=parse_whole_number(fields, "votes", 1),
        most=parse_whole_number(fields, "most", 0),
        settled_by="all" if fields.get("settled_by") == "all" else "majority",
        lease_seconds=60 * parse_whole_number(fields, "lease_minutes", 30),
        gold_every=parse_whole_number(fields, "gold_every", 10),
        pass_share=parse_whole_number(fields, "pass_percent", 70) / 100,
        seed=parse_whole_number(fields, "seed", 0),
    )


def parse_wage(text: str) -> float:
    """Parse an hourly wage, in any currency."""
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 <= amount <= 10_000:
        raise InputError(key("The pay for an hour is a number from 0 to 10,000."))
    return amount


def parse_deadline(text: str) -> str:
    """Return a deadline as a date of ISO 8601; empty if there is none."""
    try:
        return date.fromisoformat(text.strip()).isoformat() if text.strip() else ""
    except ValueError as error:
        raise InputError(key("The deadline is a date such as 2027-01-31.")) from error


def parse_whole_number(fields: Mapping[str, str], name: str, default: int) -> int:
    """Parse a whole number of a form; `default` if the field is empty."""
    text = fields.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        raise InputError(Note("web.wrong.is-a-whole-number-found", name=name.replace("_", " "), text=text[:20]))
    return int(text)


@dataclass(frozen=True)
class FormFiles:
    """Files of a form on disk, and the pictures and other media that were checked before."""

    files: dict[str, Path]
    checked_pictures: dict[str, CheckedPicture]


@contextmanager
def unpack_form_files(
    form: SubmittedForm, settings: Settings, user: User, *, is_preview: bool = False
) -> Iterator[FormFiles]:
    """Provide the form's files in a folder while they are read, next to their pictures; errors hide the folder's path.

    An upload is deleted after it was used, and kept if this is only a preview.
    """
    upload = form.fields.get("upload", "").strip()
    with tempfile.TemporaryDirectory(prefix="fullbench-") as name:
        try:
            if upload:
                folder = chunked_upload.upload_folder(settings, user, upload)
                yield _unpack_uploaded_files(folder, form, settings)
                if not is_preview:
                    shutil.rmtree(folder, ignore_errors=True)
            else:
                yield FormFiles(_store_form_files(Path(name), form, settings), {})
        except InputError as error:
            if error.path is None:
                raise
            raise InputError(str(error).replace(f"{error.path.parent}/", "")) from error


def _store_form_files(folder: Path, form: SubmittedForm, settings: Settings) -> dict[str, Path]:
    for picture, data in form.pictures.items():
        if "/" in picture or "\\" in picture or "\x00" in picture or len(picture.encode("utf-8", "replace")) > 200:
            raise InputError(Note("web.wrong.a-picture-has-a-plain", name=picture[:80]))
        limit = settings.picture_limit if kind_of(recognise_type(data) or "") == "image" else settings.body_limit
        if len(data) > limit:
            raise InputError(
                Note("web.wrong.the-picture-has-bytes-are", picture=picture, n=len(data), picture_limit=limit)
            )
        # With the prefix, no picture can overwrite a file of rows.
        (folder / f"p-{picture}").write_bytes(data)
    stored_names = {picture: f"p-{picture}" for picture in form.pictures}
    return {
        kind: _write_json_lines(folder / f"{kind}.jsonl", kind, file, stored_names) for kind, file in form.files.items()
    }


def _unpack_uploaded_files(folder: Path, form: SubmittedForm, settings: Settings) -> FormFiles:
    """Files of the form itself replace those of the same kind.

    Media are checked here, before the database transaction: many of them take minutes.
    """
    home = chunked_upload.unpack_upload(folder, settings.parcel_limit)
    every = {str(path.relative_to(home)): path for path in home.rglob("*") if path.is_file()}
    stored_names = {name: name for name in every}
    rows = {kind: chunked_upload.rows_file(home, kind) for kind in FILES}
    there = {kind: SubmittedFile(path.name, path.read_bytes()) for kind, path in rows.items() if path} | form.files
    used_pictures: set[str] = set()
    files = {
        kind: _write_json_lines(home / f".fullbench-{kind}.jsonl", kind, file, stored_names, used_pictures)
        for kind, file in there.items()
    }
    checked_pictures: dict[str, CheckedPicture] = {}
    store = picture_checks_storage_and_serving.uploads_folder(settings)
    for name in sorted(used_pictures):
        checked_picture = media_serving.check_upload(every[name], settings)
        store.keep(checked_picture.picture)
        picture = checked_picture.picture
        stored_picture = replace(picture, source=store.path(picture.digest))
        checked_pictures[stored_picture.digest] = replace(checked_picture, picture=stored_picture)
    return FormFiles(files, checked_pictures)


def _write_json_lines(
    path: Path, kind: str, file: SubmittedFile, stored_names: Mapping[str, str], used_pictures: set[str] | None = None
) -> Path:
    picture_names = set() if used_pictures is None else used_pictures
    matched_names: dict[str, str] = {}
    rows = _table_rows(path.with_name(f"sent-{kind}.table"), file) if file.is_table else _json_rows(kind, file.data)
    with path.open("w", encoding="utf-8") as out:
        for number, row in rows:
            stored_row = _PictureRenamer(stored_names, picture_names, matched_names, kind, number).rename_pictures(row)
            out.write(json.dumps(stored_row, ensure_ascii=True) + "\n")
    return path


def _json_rows(kind: str, data: bytes) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(Note("web.wrong.line-of-the-is-not", number=number, kind=word_note(kind))) from error


def _table_rows(path: Path, file: SubmittedFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """JSON cells become lists or objects; empty cells are dropped."""
    path = path.with_suffix(Path(file.name.lower()).suffix)
    path.write_bytes(file.data)
    for number, row in read_rows(path):
        yield number, {name: _parse_cell(value) for name, value in row.items() if value not in {None, ""}}


def _parse_cell(text: str) -> Any:
    if not text.startswith(("[", "{")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@dataclass(frozen=True)
class _PictureRenamer:
    stored_names: Mapping[str, str]
    used_pictures: set[str]
    matched_names: dict[str, str]
    kind: str
    line: int

    def _sent_name(self, value: str) -> str:
        """Return the name of the picture that was sent: the same, or the only one with the same last part."""
        if value in self.stored_names:
            return value
        last = value.replace("\\", "/").rpartition("/")[2]
        same = [name for name in self.stored_names if name.rpartition("/")[2] == last]
        if len(same) != 1:
            return value
        if self.matched_names.setdefault(same[0], value) != value:
            raise InputError(
                key("Two pictures in different folders have the same file name; send the folder or a zip file.")
            )
        return same[0]

    def rename_pictures(self, value: Any, naming: bool = False) -> Any:
        if isinstance(value, dict):
            if text_fields := [name for name in PARTS if isinstance(value.get(name), str)]:
                raise InputError(
                    Note(
                        "web.wrong.line-of-the-has-as", line=self.line, kind=word_note(self.kind), packed=text_fields[0]
                    )
                )
            return {name: self.rename_pictures(inner, naming or name in NAMING) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.rename_pictures(inner, naming) for inner in value]
        if naming and isinstance(value, str):
            value = self._sent_name(value)
            if value not in self.stored_names:
                raise InputError(
                    Note("web.wrong.line-of-the-names-the", line=self.line, kind=word_note(self.kind), value=value[:80])
                )
            self.used_pictures.add(value)
            return self.stored_names[value]
        return value


def texts_option(kind: str, texts: Sequence[str], *, own_pictures: bool) -> dict[str, Any]:
    """Return the option of a `write` campaign that lists the requested texts, if they are not the default."""
    if not own_pictures and not texts:
        return {}
    if kind != Write.name:
        raise InputError(
            key("people can upload their own pictures only in campaigns of kind write")
            if own_pictures
            else f"--texts selects what people write in a campaign of kind write; found kind {kind}"
        )
    if unknown := [name for name in texts if name not in Write.texts]:
        raise InputError(f"the texts that people write are {', '.join(Write.texts)}; found {unknown[0]!r}")
    requested_texts = [name for name in Write.texts if name in texts] or list(Write.usual)
    return {"texts": [*requested_texts, *([Write.brings] if own_pictures else [])]}


def parse_material(fields: Mapping[str, str], sent_files: FormFiles, ledger: Ledger | None) -> Material:
    """Return the source of the campaign: the files, or the site's ledger if no items were sent."""
    files = sent_files.files
    campaign_names = (EVERY,) if fields.get("separate_every") else (fields.get("separate_from", "").strip(),)
    contestants = tuple(name.strip() for name in fields.get("contestants", "").split(",") if name.strip())
    judges = tuple(name.strip() for name in fields.get("judges", "").split(",") if name.strip())
    return Material(
        items=files.get("items"),
        responses=(files["responses"],) if "responses" in files else (),
        queue=files.get("queue"),
        ledger=None if "items" in files else ledger,
        contestants=contestants,
        judges=judges,
        gold=files.get("gold"),
        qualify=files.get("qualify"),
        conflict_pairs=files.get("separate"),
        conflict_tag=fields.get("separate_by", "").strip(),
        per_item=parse_whole_number(fields, "per_item", 0),
        limit=parse_whole_number(fields, "limit", 0),
        conflict_campaigns=tuple(name for name in campaign_names if name),
        ledger_study=fields.get("ledger_study", "").strip(),
        include_unverified=bool(fields.get("unverified")),
        with_reference=bool(fields.get("with_reference")),
        by_gain=bool(fields.get("by_gain")),
        checked_pictures=sent_files.checked_pictures,
    )
