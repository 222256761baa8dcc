"""The OpenAPI description, made plain enough for a page of our own: it works offline and runs no script."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that a call takes."""

    name: str
    where: str
    kind: str
    required: bool
    about: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call."""

    method: str
    path: str
    tag: str
    about: str
    fields: list[Field]
    answers: list[tuple[str, str]]


def calls(description: dict[str, Any]) -> list[Call]:
    """All calls, by tag and path."""
    found = [
        _call(description, method, path, told)
        for path, methods in description.get("paths", {}).items()
        for method, told in methods.items()
        if method in METHODS
    ]
    return sorted(found, key=lambda call: (call.tag, call.path, METHODS.index(call.method.lower())))


def _call(description: dict[str, Any], method: str, path: str, told: dict[str, Any]) -> Call:
    fields = [
        Field(one["name"], one["in"], _kind(one["schema"]), one.get("required", False), one.get("description", ""))
        for one in told.get("parameters", [])
    ]
    for media, body in told.get("requestBody", {}).get("content", {}).items():
        schema = _resolved(description, body["schema"])
        required = schema.get("required", [])
        fields += [
            Field(name, media, _kind(_resolved(description, inner)), name in required, inner.get("description", ""))
            for name, inner in schema.get("properties", {}).items()
        ]
    answers = [(code, answer.get("description", "")) for code, answer in told.get("responses", {}).items()]
    tag = (told.get("tags") or [""])[0]
    return Call(method.upper(), path, tag, told.get("description") or told.get("summary", ""), fields, sorted(answers))


def _resolved(description: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    found: dict[str, Any] = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(json.dumps(one, ensure_ascii=False) for one in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_kind(one) for one in schema["anyOf"])
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    return str(schema.get("type", "any"))
