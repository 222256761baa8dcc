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
    listed = [
        _call(description, method, path, operation)
        for path, methods in description.get("paths", {}).items()
        for method, operation in methods.items()
        if method in METHODS
    ]
    return sorted(listed, key=lambda call: (call.tag, call.path, METHODS.index(call.method.lower())))


def _call(description: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> Call:
    fields = [
        Field(
            parameter["name"],
            parameter["in"],
            _kind(parameter["schema"]),
            parameter.get("required", False),
            parameter.get("description", ""),
        )
        for parameter in operation.get("parameters", [])
    ]
    for media, body in operation.get("requestBody", {}).get("content", {}).items():
        schema = _resolved(description, body["schema"])
        required = schema.get("required", [])
        fields += [
            Field(name, media, _kind(_resolved(description, inner)), name in required, inner.get("description", ""))
            for name, inner in schema.get("properties", {}).items()
        ]
    answers = [(code, answer.get("description", "")) for code, answer in operation.get("responses", {}).items()]
    tag = (operation.get("tags") or [""])[0]
    return Call(
        method.upper(), path, tag, operation.get("description") or operation.get("summary", ""), fields, sorted(answers)
    )


def _resolved(description: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    component: dict[str, Any] = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return component


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_kind(option) for option in schema["anyOf"])
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    return str(schema.get("type", "any"))
