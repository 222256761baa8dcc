"""Bill of materials of an installation as CycloneDX JSON, and its licences as a table.

    python -m scripts.sbom            write dist/sbom.cdx.json and docs/reference/licences.md
    python -m scripts.sbom --check    write nothing; exit code 1 if docs/reference/licences.md is out of date

Names, versions and hashes come from requirements.lock; licences and who needs what from the packages installed here.
Nothing of the time or the machine goes in, so that the same lock gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import uuid
from collections import deque
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK, SBOM = ROOT / "requirements.lock", ROOT / "dist" / "sbom.cdx.json"
LICENCES = ROOT / "docs" / "reference" / "licences.md"
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?: ; (?P<marker>[^\\]+?))? ?\\?$")
SCOPES = {"core": "required", "extra": "optional", "development": "excluded"}
SPDX = {
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: ISC License (ISCL)": "ISC",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
    "License :: OSI Approved :: GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "License :: OSI Approved :: GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.1-or-later",
    "License :: OSI Approved :: The Unlicense (Unlicense)": "Unlicense",
    "License :: OSI Approved :: Eclipse Public License 2.0 (EPL-2.0)": "EPL-2.0",
    "License :: Public Domain": "public domain",
}


@dataclass(frozen=True)
class Part:
    """A pinned package."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    scope: str
    licence: str


def pins() -> list[tuple[str, str, str, tuple[str, ...]]]:
    """What the lock says: name, version, marker and hashes."""
    found: list[tuple[str, str, str, list[str]]] = []
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        if match := PIN.match(line):
            found.append((match["name"], match["version"], match["marker"] or "", []))
        elif "--hash=sha256:" in line:
            found[-1][3].append(line.split("sha256:")[1].split()[0])
    return [(name, version, marker, tuple(hashes)) for name, version, marker, hashes in found]


def needed(extra: str) -> set[str]:
    """The packages that an installation with this extra needs, by way of others too."""
    seen: set[tuple[str, str]] = set()
    waiting = deque([("fullbench", extra)])
    while waiting:
        name, wanted = waiting.popleft()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        try:
            listed = requires(name) or []
        except PackageNotFoundError:
            continue
        for text in listed:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": wanted}):
                waiting += [(canonicalize_name(requirement.name), more) for more in ("", *requirement.extras)]
    return {name for name, _ in seen} - {"fullbench"}


def licence_of(name: str, version: str) -> str:
    """The licence that the package installed here states; nothing where this version is not installed here."""
    try:
        told = metadata(name)
    except PackageNotFoundError:
        return ""
    if told["Version"] != version:
        return ""
    if expression := told.get("License-Expression"):
        return str(expression)
    kinds = [
        SPDX.get(one, one.rpartition(" :: ")[2]) for one in told.get_all("Classifier") or [] if "License ::" in one
    ]
    kinds = [kind for kind in kinds if kind != "OSI Approved"]
    short = (told.get("License") or "").strip().splitlines()
    return " AND ".join(kinds) or (short[0][:60] if short else "")


def parts() -> list[Part]:
    """Every pinned package, with who needs it."""
    core, extras = needed(""), needed("light") | needed("video") | needed("pdf")
    return [
        Part(
            name, version, marker, hashes,
            "core" if name in core else "extra" if name in extras else "development", licence_of(name, version),
        )
        for name, version, marker, hashes in pins()
    ]  # fmt: skip


def bill(listed: list[Part]) -> dict[str, Any]:
    """The bill of materials as a CycloneDX value."""
    components = [_component(part) for part in listed]
    identity = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(components))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{identity}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": "fullbench", "name": "fullbench", "licenses": _licences("Apache-2.0"),
            },
        },
        "components": components,
    }  # fmt: skip


def _component(part: Part) -> dict[str, Any]:
    purl = f"pkg:pypi/{part.name}@{part.version}"
    component: dict[str, Any] = {
        "type": "library", "bom-ref": purl, "name": part.name, "version": part.version, "purl": purl,
        "scope": SCOPES[part.scope],
    }  # fmt: skip
    if part.licence:
        component["licenses"] = _licences(part.licence)
    if part.marker:
        component["properties"] = [{"name": "fullbench:marker", "value": part.marker}]
    component["externalReferences"] = [
        {
            "type": "distribution",
            "url": f"https://pypi.org/project/{part.name}/{part.version}/",
            "hashes": [{"alg": "SHA-256", "content": digest} for digest in part.hashes],
        }
    ]
    return component


def _licences(text: str) -> list[dict[str, Any]]:
    if re.fullmatch(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+()-]+)*", text):
        return [{"expression": text}]
    return [{"license": {"name": text}}]


def table(listed: list[Part]) -> str:
    """The licences in Markdown, those that a plain installation has first."""
    lines = [
        "# Licences",
        "",
        "What an installation is made of, and under which licence each part is, as the packages themselves state it.",
        "Written by `make sbom`, together with `dist/sbom.cdx.json` (CycloneDX, with hashes from `requirements.lock`).",
        "fullbench itself is under Apache-2.0. *core* comes with every installation, *extra* with an optional part,",
        "*development* with the tests alone.",
        "",
        "The wheel of `av` (extra `video`) has FFmpeg in it, built with x264 and x265, which are under",
        "GPL-2.0-or-later. So anyone who passes on an installation with that extra passes on GPL software.",
        "Further libraries in it are under LGPL-2.1-or-later (LAME), LGPL-3.0 (GMP, Nettle, GnuTLS) and BSD or MIT",
        "(dav1d, Opus, SVT-AV1, libvpx, libwebp). GIF, WebP and videos that are sent as they are need no `av`.",
        "",
        "| package | version | needed by | licence |",
        "|---|---|---|---|",
    ]
    order = list(SCOPES)
    for part in sorted(listed, key=lambda part: (order.index(part.scope), part.name, part.version)):
        licence = part.licence or f"not installed where this was written ({part.marker or 'no marker'})"
        lines.append(f"| {part.name} | {part.version} | {part.scope} | {licence.replace('|', '/')} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.sbom", description="Write or check the bill of materials.")
    parser.add_argument("--check", action="store_true", help="Write nothing; exit code 1 if the licences differ.")
    check = parser.parse_args().check
    listed = parts()
    licences = table(listed)
    if check:
        same = LICENCES.exists() and LICENCES.read_text(encoding="utf-8") == licences
        print("The licences are up to date." if same else f"{LICENCES.relative_to(ROOT)} is out of date: run make sbom")
        return 0 if same else 1
    SBOM.parent.mkdir(exist_ok=True)
    for path, text in ((SBOM, json.dumps(bill(listed), separators=(",", ":")) + "\n"), (LICENCES, licences)):
        path.write_text(text, encoding="utf-8")
        print(f"written: {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
