"""Short names of judges and contestants: what users typed, plus only the options that differ.

A full name contains everything that can change a verdict (`gpt-4o@lab:80/v1+t0+analyze#1f3a9c20`). People read short
names. They are computed together for all judges and contestants of a ledger, so that no two are equal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.panel_and_cascade import is_view

StoredSettings = Mapping[str, Any] | None
"""Settings that a ledger stores for a name; None for names from files, which have no settings."""

_MODES = ("direct", "analyze", "steps", "commit")
_JUDGE_TAIL = re.compile(rf"\+({'|'.join(_MODES)})((?:\+[a-z-]+)*)#[0-9a-f]{{8}}$")
"""Prompt style and digest at the end of the name of a judge with a prompt."""
_DIGEST = re.compile(r" ?#[0-9a-f]{8}$")
_VERSION = re.compile(r"@([0-9a-f]{6,8})$")
_SERVER = re.compile(
    r"@((?:localhost|\[[\da-f:]+\]|\d+(?:\.\d+){3}|[\w.-]+(?=:\d)|[\w.-]+\.[a-z]{2,})(?::\d+)?(?:/[^+#]*)?)$",
    re.IGNORECASE,
)
_MODEL_OPTION = re.compile(
    r"\+(?:(?P<key>t|p|max|seed|px|frames|fps|pages|start|end)(?P<number>-?\d[-+.\de]*)"
    r"|(?P<opaque>sys|extra)-(?P<hex>[0-9a-f]{8})|(?P<named>effort|video)-(?P<value>\w+)"
    r"|(?P<word>responses|images|edits|asked|sound|no-sound))$"
)
_OPTION_NAMES = {
    "t": "temperature", "p": "top_p", "max": "max_tokens", "px": "pixels", "sys": "system",
    "prompt_template": "template",
}  # fmt: skip
_JUDGE_DEFAULTS: Mapping[str, Any] = {
    "mode": "analyze", "steps": [], "picture_mode": "image", "reference": False, "language": "en", "form": "marker",
    "max_pictures": None, "constrained": None, "together": None, "confidence": None, "marks": None, "sheet": None,
    "reader": None,
}  # fmt: skip
"""Readable settings of a judge with a prompt, in the order shown, with their default values."""
_TAIL_WORDS = {"no-picture": "picture_mode", "described": "picture_mode", "zh": "language"}
"""Settings of the words in a judge's name. Other words are the names of their settings."""
_KEY_ALONE = frozenset({"reference", "constrained", "together", "confidence", "sheet"})
"""Settings that are shown by their name alone."""
_WITHOUT_IMAGE = " without image"
_SYNTHETIC = "synthetic/"
_LONGEST_VALUE = 12
"""Longest text of a setting that is shown as it is; longer values are shown by a digest."""


@dataclass(frozen=True)
class NameParts:
    """Parts of a full name. An option with its default value has an empty text.

    `options` are readable texts, by option. `further_options` are shown only for names that are equal without them.
    """

    base: str
    server: str | None = None
    """Address of the server; empty for a provider's own, None if unknown, as for names from files."""
    options: Mapping[str, str] = field(default_factory=dict)
    further_options: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""


def short_names(
    judges: Mapping[str, StoredSettings],
    contestants: Mapping[str, StoredSettings] | None = None,
    chosen_names: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return a distinct short name for each full name.

    No short name is the full name of another judge or contestant. The result does not depend on any order.

    Args:
        judges: Settings of all judges by full name.
        contestants: Settings of all contestants by full name.
        chosen_names: Names that users chose, by full name. They are used as they are. Differing options follow if
            several full names have the same chosen name.

    >>> analyze, steps, lab = "gpt-4o+t0+analyze#1f3a9c20", "gpt-4o+t0+steps#2b3a9c20", "glm@lab:80/v1+direct#3c4a9c20"
    >>> list(short_names(dict.fromkeys([analyze, steps, lab])).values())
    ['glm', 'gpt-4o', 'gpt-4o (steps)']
    >>> list(short_names({steps: None, "human": None}, {"gpt-4o": None}).values())
    ['gpt-4o', 'gpt-4o (judge)', 'human']
    """
    contestants, chosen_names = contestants or {}, chosen_names or {}
    parts = {name: _contestant_parts(name, settings) for name, settings in contestants.items()}
    for name in judges.keys() - contestants.keys():
        judge_parts = _judge_parts(name, judges[name])
        parts[name] = replace(judge_parts, options={"role": "judge", **judge_parts.options})
    chosen_parts = {name: replace(parts[name], base=chosen_names[name]) for name in parts if name in chosen_names}
    names = _distinct_names(chosen_parts, parts)
    other_parts = {name: name_parts for name, name_parts in parts.items() if name not in chosen_names}
    names |= _distinct_names(other_parts, {*parts, *names.values()})
    return {name: names[name] for name in sorted(parts)}


def _distinct_names(parts: Mapping[str, NameParts], taken_names: Collection[str]) -> dict[str, str]:
    """Return a distinct name for each of these. Only its owner is shown by a name in `taken_names`."""
    groups: dict[str, list[str]] = {}
    for name in sorted(parts):
        groups.setdefault(parts[name].base, []).append(name)
    name_forms: dict[str, list[str]] = {}
    for names in groups.values():
        for name, form in _names_with_options({name: parts[name] for name in names}).items():
            longer_form = f"{form} {parts[name].digest}".rstrip()
            name_forms[name] = list(dict.fromkeys((form, longer_form, name)))
    while True:
        counts = Counter(forms[0] for forms in name_forms.values())
        ambiguous_names = [
            name
            for name, forms in name_forms.items()
            if forms[0] != name and (counts[forms[0]] > 1 or forms[0] in taken_names)
        ]
        if not ambiguous_names:
            return {name: forms[0] for name, forms in name_forms.items()}
        for name in ambiguous_names:
            del name_forms[name][0]


def _names_with_options(parts: Mapping[str, NameParts]) -> dict[str, str]:
    """Return `base@server (options)` for names with one base: servers and options only if they differ."""
    servers = {name_parts.server for name_parts in parts.values() if name_parts.server is not None}
    hosts = {server: server.partition("/")[0] for server in servers}
    shown_servers = hosts if len(set(hosts.values())) == len(servers) else {server: server for server in servers}
    texts: dict[str, list[str]] = {name: [] for name in parts}
    _add_options(texts, {name: {"role": name_parts.options.get("role", "")} for name, name_parts in parts.items()})
    for role in {
        name_parts.options.get("role") for name_parts in parts.values()
    }:  # (judge) separates the roles already
        _add_options(texts, {name: own.options for name, own in parts.items() if own.options.get("role") == role})
    groups: dict[tuple[str | None, ...], list[str]] = {}
    for name, name_parts in parts.items():
        groups.setdefault((name_parts.server, *texts[name]), []).append(name)
    for equal_names in groups.values():
        _add_options(texts, _separating_options({name: parts[name].further_options for name in equal_names}))
    return {
        name: name_parts.base
        + (f"@{shown_servers[name_parts.server]}" if name_parts.server and len(servers) > 1 else "")
        + (f" ({', '.join(texts[name])})" if texts[name] else "")
        for name, name_parts in parts.items()
    }


def _separating_options(options: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return the fewest options, in their order, by which as many of these names as possible differ."""
    chosen_options: dict[str, dict[str, str]] = {name: {} for name in options}

    def count_distinct(key: str) -> int:
        return len({(*chosen_options[name].values(), options[name].get(key, "")) for name in options})

    keys = list(dict.fromkeys(key for name_options in options.values() for key in name_options))
    distinct_count = 1
    while keys and distinct_count < len(options):
        best_key = max(keys, key=count_distinct)
        if count_distinct(best_key) == distinct_count:
            break
        distinct_count = count_distinct(best_key)
        for name in options:
            chosen_options[name][best_key] = options[name].get(best_key, "")
        keys.remove(best_key)
    return chosen_options


def _add_options(texts: Mapping[str, list[str]], options: Mapping[str, Mapping[str, str]]) -> None:
    """Add the texts of options that differ between names to the texts of each name."""
    for key in dict.fromkeys(key for name_options in options.values() for key in name_options):
        if len({name_options.get(key, "") for name_options in options.values()}) > 1:
            for name, name_options in options.items():
                texts[name].extend([name_options[key]] if name_options.get(key) else [])


def _contestant_parts(name: str, settings: StoredSettings) -> NameParts:
    if settings is None:
        return _undeclared_parts(name)
    if name.endswith(_WITHOUT_IMAGE):
        parts = _contestant_parts(name.removesuffix(_WITHOUT_IMAGE), settings)
        return replace(parts, base=parts.base + _WITHOUT_IMAGE)
    if name.startswith(_SYNTHETIC):
        return replace(_other_parts(name, settings), base=name.removeprefix(_SYNTHETIC))
    parts = _other_parts(name, settings)
    if settings.get("label") and "dialect" in settings:  # the user chose the label in place of the server's address
        return replace(parts, base=f"{settings['model']}@{settings['label']}", server="")
    return parts


def _judge_parts(name: str, settings: StoredSettings) -> NameParts:
    if is_view(name):
        return NameParts(name)
    tail = _JUDGE_TAIL.search(name)
    if tail is None:
        return _undeclared_parts(name) if settings is None else _other_parts(name, settings)
    model_text, mode, words = name[: tail.start()], tail[1], tail[2].split("+")[1:]
    settings = settings or {"mode": mode, **{_TAIL_WORDS.get(word, word): word for word in words}}
    model = settings.get("model")
    parts = _model_parts(model if isinstance(model, str) else model_text)
    if isinstance(model, str) and model_text != model:
        parts = replace(parts, base=model_text)  # a label
    options = {key: text for key in _JUDGE_DEFAULTS if (text := _judge_option(key, settings.get(key), mode))}
    temperature = parts.options.get("t", "temperature default")
    options |= {
        key: text for key, text in parts.options.items() if (key, text) != ("t", "temperature 0")
    }  # judges run at temperature 0 by default
    known_keys = {"model", *_JUDGE_DEFAULTS}
    further_options = {"temperature": temperature, **parts.further_options} | {
        key: _setting_text(key, value) for key, value in settings.items() if key not in known_keys
    }
    return NameParts(parts.base, parts.server, options, further_options, name[name.rindex("#") :])


def _judge_option(key: str, value: Any, mode: str) -> str:
    if value is None or value == _JUDGE_DEFAULTS[key]:
        return ""
    if key in _KEY_ALONE:
        return key
    if key == "steps":
        return "+".join(value) if mode == "steps" and list(value) != ["both"] else ""
    if key == "reader":
        return f"reader {_model_parts(str(value)).base}" if value != key else key
    if key in {"max_pictures", "marks"}:
        return f"{key} {value}"
    return "no picture" if value in {"none", "no-picture"} else str(value)


def _model_parts(name: str) -> NameParts:
    """Return the parts of a model's name: name, server, sampling settings.

    >>> _model_parts("qwen@10.0.0.1:80/v1+t0.5").server, _model_parts("rules+colours#b1e7dddd").base
    ('10.0.0.1:80/v1', 'rules+colours')
    """
    options: dict[str, str] = {}
    further_options: dict[str, str] = {}
    if (digest_match := _DIGEST.search(name)) is not None:  # a model of our own, such as one of rules
        name, further_options["digest"] = name[: digest_match.start()], digest_match[0].strip()
    while (match := _MODEL_OPTION.search(name)) is not None:
        name = name[: match.start()]
        if match["key"]:
            options[match["key"]] = f"{_OPTION_NAMES.get(match['key'], match['key'])} {match['number']}"
        elif match["opaque"]:
            key = _OPTION_NAMES.get(match["opaque"], match["opaque"])
            further_options[key] = f"{key} {match['hex'][:4]}"
        else:
            key = match["named"] or match["word"].removeprefix("no-")
            options[key] = f"{key} {match['value']}" if match["named"] else match["word"]
    server = _SERVER.search(name)
    base = name[: server.start()] if server else name
    return NameParts(
        base.removeprefix(_SYNTHETIC) or name,
        server[1] if server else "",
        dict(reversed(options.items())),
        dict(reversed(further_options.items())),
    )


def _other_parts(name: str, settings: Mapping[str, Any]) -> NameParts:
    """Return the parts of a name with settings that is not the name of a judge with a prompt."""
    digest_match = _DIGEST.search(name)
    base = name[: digest_match.start()] if digest_match else name
    version = _VERSION.search(base)
    if version and _is_digest_of(version[1], settings):
        base = base[: version.start()]
    base, _, query = base.partition("?")
    options = {key: f"{key} {value}" for key, _, value in (pair.partition("=") for pair in query.split("&")) if key}
    server = str(settings.get("server") or "")
    address = urlsplit(server).netloc if "://" in server else server
    parts = _model_parts(base) if "model" in settings else NameParts(base)
    if address and parts.base.endswith(f"@{address}"):
        parts = replace(parts, base=parts.base.removesuffix(f"@{address}"), server=address)
    further_options = {key: _setting_text(key, value) for key, value in settings.items()}
    return NameParts(
        parts.base or name,
        parts.server,
        {**options, **parts.options},
        {**parts.further_options, **further_options},
        digest_match[0].strip() if digest_match else version[0] if version else "",
    )


def _undeclared_parts(name: str) -> NameParts:
    """Return the parts of a name without settings: users typed it unless it ends with a digest of ours."""
    return replace(_other_parts(name, {}), server=None) if _DIGEST.search(name) else NameParts(name)


def _is_digest_of(text: str, settings: Mapping[str, Any]) -> bool:
    """Return True if a text is the beginning of a digest of these settings, or of one of them."""
    digests = [digest(dict(settings)), *(digest(value) for value in settings.values()), *map(str, settings.values())]
    return any(value.startswith(text) for value in digests)


def _setting_text(key: str, value: Any) -> str:
    shown_key = _OPTION_NAMES.get(key, key)
    if value in (None, "", {}, []):
        return ""
    text = str(value)
    is_digest = re.fullmatch("[0-9a-f]{32}", text) is not None
    if isinstance(value, str | int | float) and len(text) <= _LONGEST_VALUE:
        return f"{shown_key} {text}"
    return f"{shown_key} {text[:4] if is_digest else digest(value)[:4]}"
