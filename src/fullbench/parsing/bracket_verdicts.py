"""Verdicts in double brackets, and menus of options that only look like them."""

from __future__ import annotations

import re

from fullbench.parsing.numbers_and_scale_words import ValueForm
from fullbench.parsing.reply_patterns_and_plain_text_conversion import ASPECTS, CUE, TIED_OPTION
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import ILLEGAL, PLACEHOLDER, Claim, Form, trim

MENU = "menu"
MOST = 200
"""Number of brackets that are considered, from the end."""
MARKER = re.compile(
    r"\[(?:\[[^\[\]]{1,120}\](?:\s?[,;>=]{0,2}\s?\[[^\[\]]{1,40}\]){0,26}\]?|[^\[\]\n]{1,40}\]\])"
)  # fmt: skip
_BRACKETS = re.compile(r"[\[\]]")
_OUT_OF = re.compile(r"\s?(?:/|out of)\s?\d+(?:\.\d+)?")
_SIGNS = re.compile(r"\s?[<>=~]{1,3}\s?")
_LINKS = re.compile(
    r"(?i)\s{0,4}(?:[,;>&|<=~]{1,2}|,?\s?(?:then|followed by|and then|and)\b|然后|其次|再|和)?\s{0,4}"
    r"(?:\(?\d{1,2}[.):]|(?:\d(?:st|nd|rd|th)|second|third|fourth|fifth|last|worst)\b[ :]{0,2}(?:place)?:?)?\s{0,3}"
)
_ALTERNATIVES = re.compile(r"[A-Z0-9]\s?[/|]\s?[A-Z](?![A-Za-z])|\bor\b|或|\d\s?\|\s?\d")
_OPTION_GAP = re.compile(
    r"[^\w\n]{0,4}(?:(?:or|and|to|through|以及|或者|或|和|到)[^\w\n]{0,4})?"
    r"|(?!.*(?i:\b(?:but|however|yet|although|instead|actually|then|so)\b)|.*[但却而])"
    r".{0,120}(?:(?i:\b(?:if|when|means?)\b|\bfor (?:an? )?(?:\w+ )?(?:tie|draw|response|assistant|answer)\b)"
    r"|如果|若|表示|代表|时).{0,120}"
)
_MENU_LINE = re.compile(
    r"\s*(?:\(?\d[.):]|[-•·(]|if\b)|.{0,200}(?:\bif\b|\bwhen\b|\bfor\b|如果|若|表示|代表)", re.IGNORECASE
)


def bracket_claims(form: Form, n: int, text: str) -> list[Claim]:
    """Return the verdicts in double brackets, in order; those of a menu have the kind `MENU`."""
    if "[[" not in text and "]]" not in text:
        return []
    markers = [m for m in MARKER.finditer(text) if not PLACEHOLDER.fullmatch(trim(m[0]))][-MOST:]
    if form.pieces(n) == 1:
        return _without_menus(text, [_claim(form, n, text, run) for run in _runs(text, markers, _SIGNS, 1)])
    claims = [_claim(form, n, text, run) for run in _runs(text, markers, _LINKS, form.pieces(n))]
    if isinstance(form, ValueForm) and markers and not claims[-1].marks:
        return _one_by_one(form, n, text, markers) or claims
    return claims


def _claim(form: Form, n: int, text: str, run: list[re.Match[str]]) -> Claim:
    start, end = run[0].start(), run[-1].end()
    if fraction := _OUT_OF.match(text, end):
        end = fraction.end()
    if _ALTERNATIVES.search(text, start, end):
        return Claim(start, end, ILLEGAL, MENU)
    raw = " ".join(_BRACKETS.sub(" ", text[start:end]).split())
    is_last_line = text.rfind("\n", 0, start) + 1 >= start - 4 and not text[end:].strip(" \n.")
    return form.turned(text, start, end, form.bracketed(raw, n, is_last_line=is_last_line) or ILLEGAL)


def _one_by_one(form: ValueForm, n: int, text: str, markers: list[re.Match[str]]) -> list[Claim]:
    """Return marks given after the names of the responses, else exactly as many marks as responses, in order."""
    rows, at = [], 0
    for match in markers:
        rows.append(text[max(at, match.start() - 60) : match.end()].rpartition("\n")[2])
        at = match.end()
    start, end = markers[0].start(), markers[-1].end()
    if claims := form.named("\n".join(rows), n):
        return [Claim(start, end, claims[-1].marks)]
    raw = ", ".join(trim(match[0]) for match in markers)
    return [Claim(start, end, form.phrase(raw, n) or ILLEGAL)] if len(markers) == n else []


def _runs(text: str, markers: list[re.Match[str]], link: re.Pattern[str], pieces: int) -> list[list[re.Match[str]]]:
    """Group markers with only links between them; a blank line ends a row that is complete."""
    runs: list[list[re.Match[str]]] = []
    for match in markers:
        end = runs[-1][-1].end() if runs else 0
        near = bool(runs) and match.start() - end < 24 and link.fullmatch(text, end, match.start()) is not None
        if near and not (len(runs[-1]) == pieces and "\n\n" in text[end : match.start()]):
            runs[-1].append(match)
        else:
            runs.append([match])
    return runs


def _without_menus(text: str, claims: list[Claim]) -> list[Claim]:
    """Return claims with each menu of options, in one line or one a line, marked as such."""
    if len(claims) < 2:
        return claims
    groups: list[list[Claim]] = []
    for claim in claims:
        before = groups[-1][-1] if groups else None
        gap = text[before.end : claim.start] if before else "\n"
        joined = "\n" not in gap and before is not None and (
            _OPTION_GAP.fullmatch(gap) is not None
            or (gap.endswith(": ") and not CUE.search(gap))
        )  # fmt: skip
        if joined or (before is not None and _is_next_option(text, groups[-1], claim, gap)):
            groups[-1].append(claim)
        else:
            groups.append([claim])
    merged: list[Claim] = []
    for group in groups:
        is_menu = len({claim.marks for claim in group}) > 1
        merged.append(Claim(group[0].start, group[-1].end, ILLEGAL, MENU) if is_menu else group[-1])
    return merged


def _is_next_option(text: str, group: list[Claim], claim: Claim, gap: str) -> bool:
    """Return True if a claim on a later line continues a list of options, each different and none called final."""
    heads = [text[text.rfind("\n", 0, option.start) + 1 : option.start] for option in (group[0], claim)]
    written = {text[option.start : option.end] for option in group}
    lines = gap.split("\n")
    near = len(lines) == 2 or all(not line.strip() for line in lines[1:-1]) or _numbers_follow(text, group[-1], claim)
    return (
        len(lines) > 1
        and near
        and text[claim.start : claim.end] not in written
        and all(map(_MENU_LINE.match, heads))
        and not CUE.search(heads[1])
        and not any(map(_names_criterion, heads))
    )


def _names_criterion(head: str) -> bool:
    return not TIED_OPTION.match(head) and not ASPECTS.isdisjoint(re.findall(r"\w+", head.casefold()))


def _numbers_follow(text: str, first: Claim, second: Claim) -> bool:
    numbers = [
        re.match(r"\s*(\d)[.)]\s", text[text.rfind("\n", 0, claim.start) + 1 : claim.start])
        for claim in (first, second)
    ]
    return all(numbers) and int(numbers[0][1]) + 1 == int(numbers[1][1])  # type: ignore[index]
