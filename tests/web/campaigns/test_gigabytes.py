"""A zip file of more than a gigabyte, sent over HTTP in pieces to a server that is killed twice; a study made of it."""

from __future__ import annotations

import io
import json
import os
import random
import re
import signal
import threading
import zipfile
from hashlib import sha256
from pathlib import Path

import httpx2 as httpx
import pytest
from PIL import Image

from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.votes.progress_annotator_agreement_and_joined_votes import campaign_progress
from fullbench.web.database import read_transaction
from fullbench.web.route_access_connection_and_csrf_checks import SESSION
from tests.support.annotation_pages import open_step
from tests.web.conftest import Live, start_live

PIECE = 4 * 1024 * 1024
SIDE = 2350
PICTURES = 66
PARCEL = "feedfacefeedface"
MOST_MEMORY = 400
"""Megabytes of memory that the server may ever have had: pictures are looked at one at a time."""


def pack(path: Path, count: int = PICTURES) -> dict[str, str]:
    """A zip file of noisy pictures that no packing makes smaller; the digest of each picture's bytes by its item."""
    pixels = bytearray(random.Random(5).randbytes(SIDE * SIDE * 3))
    digests = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as packed:
        items = []
        for number in range(count):
            pixels[:3] = number.to_bytes(3, "big")
            out = io.BytesIO()
            Image.frombytes("RGB", (SIDE, SIDE), bytes(pixels)).save(out, "PNG", compress_level=0)
            packed.writestr(f"study/p/{number}.png", out.getvalue())
            digests[f"q{number}"] = sha256(out.getvalue()).hexdigest()
            items.append({"id": f"q{number}", "question": f"第 {number} 张是什么？", "pictures": [f"p/{number}.png"]})
        packed.writestr("study/items.jsonl", "\n".join(json.dumps(item, ensure_ascii=False) for item in items))
        answers = [{"item": item["id"], "contestant": "x", "text": f"{item['id']}: noise"} for item in items]
        packed.writestr("study/responses.jsonl", "\n".join(map(json.dumps, answers)))
    return digests


def peak(process: int) -> float:
    """The most memory that a process ever had, in megabytes."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())[1]) / 1024


class Sender:
    """What the page's script does: asks what is there, sends the next piece, and tries again where that fails."""

    def __init__(self, live: Live, path: Path) -> None:
        self.path, self.size = path, path.stat().st_size
        cookies = {SESSION: live.cookie("lead", "organiser")["value"]}
        self.client = httpx.Client(base_url=live.url, cookies=cookies, timeout=300)
        self.token = re.search(r'name="csrf" content="(\w+)"', self.client.get("/account").text)[1]
        self.base = f"/organise/uploads/{PARCEL}"

    def have(self) -> int:
        return self.client.get(self.base, params={"path": "study.zip"}).json()["have"]

    def piece(self, at: int) -> int:
        with self.path.open("rb") as packed:
            packed.seek(at)
            data = packed.read(PIECE)
        where = {"path": "study.zip", "at": at, "size": self.size}
        answer = self.client.post(self.base, params=where, content=data, headers={"X-CSRF-Token": self.token})
        assert answer.status_code in {200, 409}, answer.text
        return answer.json()["have"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_gigabyte_to_a_server_that_is_killed(tmp_path, record_property):
    packed = tmp_path / "study.zip"
    digests = pack(packed)
    assert packed.stat().st_size > 1024**3
    live = start_live(tmp_path, forked=False)
    sender, peaks, resumed = Sender(live, packed), [], []
    kills = [sender.size // 3, 2 * sender.size // 3]
    have = 0
    try:
        while have < sender.size:
            if kills and have >= kills[0]:
                kills.pop(0)
                peaks.append(peak(live.process.pid))
                # The server dies under a piece that is on its way; how much of it was written nobody knows.
                death = threading.Timer(0.01, os.kill, (live.process.pid, signal.SIGKILL))
                death.start()
                try:
                    while True:
                        have = sender.piece(have)
                except (httpx.TransportError, AssertionError):
                    death.join()
                live.process.wait(timeout=60)
                live.engine.dispose()
                live = start_live(tmp_path, port=live.settings.port, forked=False)
                resumed.append(sender.have())
                assert resumed[-1] >= have, "no acknowledged piece is sent twice"
                have = resumed[-1]
            have = sender.piece(have)
        sent = {"csrf": sender.token, "name": "giga", "kind": "score", "votes": "1", "most": "1", "upload": PARCEL}
        made = sender.client.post("/organise/new", data=sent, files={"x": b""}, timeout=600)
        assert made.status_code == 303, made.text
        peaks.append(peak(live.process.pid))
        with read_transaction(live.engine) as connection:
            assert campaign_progress(connection, campaigns.campaign_by_name(connection, "giga"), 0.0).tasks == PICTURES
        listed = sender.client.get(f"{made.headers['location']}/tasks").text
        assert "q0" in listed
        shown = re.findall(r"/pictures/([0-9a-f]{64})", sender.client.get(f"{made.headers['location']}/preview").text)
        assert shown[0] in digests.values()
        assert sha256(sender.client.get(f"/pictures/{shown[0]}").content).hexdigest() == shown[0]
        assert sender.have() == 0, "the upload is used up"
        record_property("bytes", sender.size)
        record_property("resumed at", resumed)
        record_property("most memory in MB", [round(megabytes) for megabytes in peaks])
        assert max(peaks) < MOST_MEMORY
    finally:
        sender.client.close()
        live.process.kill()
        live.process.wait(timeout=60)
        live.engine.dispose()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_browser_sends_a_folder_and_a_large_file(tmp_path, browser, record_property):
    """A folder of several files; then 300 MB to a server that is killed under them: the page waits and goes on by
    itself; the page is closed in the middle, opened again, and the same file goes on where it was."""
    packed, served = tmp_path / "study.zip", tmp_path / "served"
    digests = pack(packed, 18)
    assert packed.stat().st_size > 290e6
    folder = tmp_path / "my folder"
    (folder / "p").mkdir(parents=True)
    items = [{"id": f"f{n}", "question": f"{n}？", "pictures": [f"p/{n}.png"]} for n in range(5)]
    for item, colour in zip(items, range(5), strict=True):
        Image.new("RGB", (900, 900), (colour * 40, 9, 9)).save(folder / item["pictures"][0])
    (folder / "items.jsonl").write_text("\n".join(json.dumps(item, ensure_ascii=False) for item in items), "utf-8")
    answers = [{"item": item["id"], "contestant": "x", "text": item["id"]} for item in items]
    (folder / "responses.jsonl").write_text("\n".join(map(json.dumps, answers)), "utf-8")
    served.mkdir()
    live = start_live(served, forked=False)
    context = browser.new_context(base_url=live.url)
    context.add_cookies([live.cookie("lead", "organiser")])
    sent: list[int] = []

    def noted(request) -> None:
        if request.method == "POST" and "/organise/uploads/" in request.url and "study.zip" in request.url:
            sent.append(int(re.search(r"[?&]at=(\d+)", request.url)[1]))

    def new_page(kind: str, name: str):
        page = context.new_page()
        page.on("request", noted)
        page.goto(f"/organise/new?kind={kind}")
        page.fill("#name", name)
        return page

    def tasks(name: str) -> int:
        with read_transaction(live.engine) as connection:
            return campaign_progress(connection, campaigns.campaign_by_name(connection, name), 0.0).tasks

    try:
        page = new_page("score", "a folder")
        page.set_input_files("#folder", folder)
        page.wait_for_function("() => document.getElementById('upload').value")
        open_step(page, 4)
        page.click("#new-study button[value=open]")
        page.wait_for_url("**/organise/*", wait_until="domcontentloaded")
        page.wait_for_function("() => !location.pathname.endsWith('/new')")
        assert tasks("a folder") == 5

        page = new_page("score", "giga")
        page.set_input_files("#zip", packed)
        page.wait_for_function("() => document.getElementById('upload-progress').value > 60e6", timeout=120_000)
        os.kill(live.process.pid, signal.SIGKILL)
        live.process.wait(timeout=60)
        live.engine.dispose()
        at_kill = max(sent)
        live = start_live(served, port=live.settings.port, forked=False)
        page.wait_for_function("() => document.getElementById('upload-progress').value > 140e6", timeout=120_000)
        assert min(sent[sent.index(at_kill) :]) >= at_kill, "no piece that was acknowledged goes over again"
        page.close()
        at_close = max(sent)
        del sent[:]
        page = new_page("score", "giga")
        page.set_input_files("#zip", packed)
        page.wait_for_function("() => document.getElementById('upload').value", timeout=240_000)
        assert min(sent) >= at_close, "it goes on where it was"
        assert "MB have arrived." in page.inner_text("#upload-status")
        open_step(page, 4)
        page.click("#new-study button[value=open]")
        page.wait_for_function("() => !location.pathname.endsWith('/new')", timeout=240_000)
        assert tasks("giga") == 18
        page.goto(f"{page.url}/preview")
        shown = re.findall(r"/pictures/([0-9a-f]{64})", page.content())
        assert shown[0] in digests.values()
        record_property("killed at", at_kill)
        record_property("closed at", at_close)
    finally:
        context.close()
        live.process.kill()
        live.process.wait(timeout=60)
        live.engine.dispose()
