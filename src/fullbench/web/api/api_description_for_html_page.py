"""Simplified OpenAPI description for an HTML page that works offline and runs no script."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter or body field of an API call."""

    name: str
    where: str
    kind: str
    required: bool
    about: str


@dataclass(frozen=True, slots=True)
class Call:
    """One API call: method, path, fields and possible answers."""

    method: str
    path: str
    tag: str
    about: str
    fields: list[Field]
    answers: list[tuple[str, str]]


def list_calls(description: dict[str, Any]) -> list[Call]:
    """Return all API calls, sorted by tag, path and method."""
    api_calls = [
        _describe_call(description, method, path, operation)
        for path, methods in description.get("paths", {}).items()
        for method, operation in methods.items()
        if method in METHODS
    ]
    return sorted(api_calls, key=lambda call: (call.tag, call.path, METHODS.index(call.method.lower())))


def _describe_call(description: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> Call:
    fields = [
        Field(
            parameter["name"],
            parameter["in"],
            _type_name(parameter["schema"]),
            parameter.get("required", False),
            parameter.get("description", ""),
        )
        for parameter in operation.get("parameters", [])
    ]
    for media, body in operation.get("requestBody", {}).get("content", {}).items():
        schema = _resolve_schema(description, body["schema"])
        required_names = schema.get("required", [])
        fields += [
            Field(
                name,
                media,
                _type_name(_resolve_schema(description, inner)),
                name in required_names,
                inner.get("description", ""),
            )
            for name, inner in schema.get("properties", {}).items()
        ]
    answers = [(code, answer.get("description", "")) for code, answer in operation.get("responses", {}).items()]
    tag = (operation.get("tags") or [""])[0]
    return Call(
        method.upper(), path, tag, operation.get("description") or operation.get("summary", ""), fields, sorted(answers)
    )


def _resolve_schema(description: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    component: dict[str, Any] = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return component


def _type_name(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_type_name(option) for option in schema["anyOf"])
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    return str(schema.get("type", "any"))
