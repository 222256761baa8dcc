"""A real server for journeys in which people vote: accounts, votes over HTTP, and what comes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx2 as httpx
from sqlalchemy import select
from typer.testing import CliRunner

from fullbench.cli.all_commands import app
from fullbench.errors import FullbenchError
from fullbench.web.accounts import api_tokens
from fullbench.web.accounts.account_and_shared_site_tables import users as users_table
from fullbench.web.campaigns import campaigns
from fullbench.web.database import read_transaction, write_transaction
from tests.web.conftest import add_person, start_live

Choose = Callable[[str, dict], Mapping[str, str]]
"""What somebody fills in: their name and the task as the API shows it, to the fields of the form."""


class Site:
    """`fullbench serve` on a ledger; `cli` runs commands beside it, on the same data."""

    def __init__(self, folder: Path, ledger: Path | None, *options: str, database: str | None = None) -> None:
        self.folder, self.ledger = folder, ledger
        with_ledger = () if ledger is None else ("--ledger", str(ledger))
        self.live = start_live(folder, *with_ledger, *options, database=database)
        self._clients: dict[str, httpx.Client] = {}

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self.live.process.terminate()
        self.live.process.wait(timeout=120)
        self.live.engine.dispose()

    def cli(self, *words: object, code: int = 0) -> str:
        """A command's standard output; for a mistake of the user, the sentence that is said."""
        try:
            done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        except FullbenchError as error:
            if code != 2:
                raise
            return str(error)
        assert done.exit_code == code, done.output
        return done.output if code else done.stdout

    def said(self, *words: object) -> str:
        """All that a command of `fullbench people` says, beside its tables too."""
        end = ("--data", self.folder, "--database", self.live.settings.database)
        done = CliRunner().invoke(app, [str(word) for word in ("people", *words, *end)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    def people(self, *words: object, code: int = 0) -> str:
        """A command of `fullbench people` on the site's database."""
        return self.cli("people", *words, "--data", self.folder, "--database", self.live.settings.database, code=code)

    def client(self, name: str, role: str = "annotator") -> httpx.Client:
        """Somebody's own connection, by a token; the account is made where there is none."""
        if name not in self._clients:
            with write_transaction(self.live.engine) as connection:
                user = add_person(connection, name, role)
                _, secret = api_tokens.create_token(connection, user, "test", "write", 1)
            headers = {"Authorization": f"Bearer {secret}"}
            self._clients[name] = httpx.Client(base_url=self.live.url, headers=headers, timeout=60)
        return self._clients[name]

    def rater(self, name: str) -> str:
        with read_transaction(self.live.engine) as connection:
            return connection.execute(select(users_table.c.rater).where(users_table.c.name == name)).scalar_one()

    def study(self, name: str) -> str:
        """The id of a campaign."""
        with read_transaction(self.live.engine) as connection:
            return campaigns.campaign_by_name(connection, name).id

    def vote(self, campaign: str, names: list[str], choose: Choose) -> int:
        """Everybody votes on all that they are given, in turn; how many votes were taken."""
        path, count = f"/api/v1/studies/{self.study(campaign)}", 0
        waiting = list(names)
        while waiting:
            for name in list(waiting):
                task = self.client(name).post(f"{path}/next", json={}).json()["task"]
                if task is None:
                    waiting.remove(name)
                    continue
                sent = {"lease": task["lease"], "key": task["lease"], "fields": dict(choose(name, task)), "seconds": 3}
                taken = self.client(name).post(f"{path}/votes", json=sent)
                assert taken.status_code == 201, taken.text
                count += 1
        return count


def shown(task: dict) -> list[str]:
    """The texts of a task's responses, in the order shown."""
    return ["".join(part.get("text", "") for part in one["parts"]) for one in task["responses"]]


def asked(task: dict) -> str:
    """The text of a task's question."""
    return "".join(part.get("text", "") for turn in task["turns"] for part in turn["parts"])


def tables(text: str) -> dict[str, dict]:
    """The tables of a command's JSON by their names."""
    found = json.loads(text)
    listed = (
        found
        if isinstance(found, list)
        else found.get("tables") or [table for section in found["sections"] for table in section["tables"]]
    )
    return {table["name"]: table for table in listed}


def column(table: dict, name: str, by: str = "contestant") -> dict[str, float]:
    """The values of a column by another."""
    labels = [entry["label"] if isinstance(entry, dict) else entry for entry in table["columns"]]
    who, where = labels.index(by), labels.index(name)
    return {row[who]: row[where]["value"] if isinstance(row[where], dict) else row[where] for row in table["rows"]}
