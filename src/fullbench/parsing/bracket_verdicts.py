"""Verdicts in double brackets, and menus of options that only look like them."""

from __future__ import annotations

import re

from fullbench.parsing.numbers_and_scale_words import ValueForm
from fullbench.parsing.reply_patterns_and_plain_text_conversion import ASPECTS, CUE, TIED_OPTION, late_pattern
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import ILLEGAL, PLACEHOLDER, Claim, Form, trim

MENU = "menu"
MOST = 200
"""Number of brackets that are considered, from the end."""
MARKER = re.compile(
    r"\[(?:\[[^\[\]]{1,120}\](?:\s?[,;>=]{0,2}\s?\[[^\[\]]{1,40}\]){0,26}\]?|[^\[\]\n]{1,40}\]\])"
)  # fmt: skip
_OUT_OF = re.compile(r"\s?(?:/|out of)\s?\d+(?:\.\d+)?")
_SIGNS = re.compile(r"\s?[<>=~]{1,3}\s?")
_LINKS = late_pattern(
    r"(?i)\s{0,4}(?:[,;>&|<=~]{1,2}|,?\s?(?:then|followed by|and then|and)\b|然后|其次|再|和)?\s{0,4}"
    r"(?:\(?\d{1,2}[.):]|(?:\d(?:st|nd|rd|th)|second|third|fourth|fifth|last|worst)\b[ :]{0,2}(?:place)?:?)?\s{0,3}"
)
_OPTION_GAP = late_pattern(
    r"[^\w\n]{0,4}(?:(?:or|and|to|through|以及|或者|或|和|到)[^\w\n]{0,4})?"
    r"|(?!.*(?i:\b(?:but|however|yet|although|instead|actually|then|so)\b)|.*[但却而])"
    r".{0,120}(?:(?i:\b(?:if|when|means?)\b|\bfor (?:an? )?(?:\w+ )?(?:tie|draw|response|assistant|answer)\b)"
    r"|如果|若|表示|代表|时).{0,120}"
)
_MENU_LINE = late_pattern(
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
    if isinstance(form, ValueForm) and claims and not claims[-1].marks:
        return _one_by_one(form, n, text, markers) or claims
    return claims


def _claim(form: Form, n: int, text: str, run: list[re.Match[str]]) -> Claim:
    start, end = run[0].start(), run[-1].end()
    if fraction := _OUT_OF.match(text, end):
        end = fraction.end()
    raw = " ".join(text[start:end].replace("[", " ").replace("]", " ").split())
    is_last_line = text.rfind("\n", 0, start) + 1 >= start - 4 and not text[end:].strip(" \n.")
    return form.turned(text, start, end, form.bracketed(raw, n, is_last_line=is_last_line) or ILLEGAL)


def _one_by_one(form: ValueForm, n: int, text: str, markers: list[re.Match[str]]) -> list[Claim]:
    """Return marks given after the names of the responses, else exactly as many marks as responses, in order."""
    rows, at = [], 0
    for match in markers:
        rows.append(text[max(at, match.start() - 60) : match.end()].rpartition("\n")[2])
        at = match.end()
    claims = form.named("\n".join(rows), n)
    marks = claims[-1].marks if claims else form.phrase(", ".join(trim(match[0]) for match in markers), n)
    is_complete = claims or len(markers) == n
    return [Claim(markers[0].start(), markers[-1].end(), marks or ILLEGAL)] if is_complete else []


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
    """Return claims with each menu of different options, in one line or one a line, marked as such."""
    groups: list[list[Claim]] = []
    for claim in claims:
        if groups and _is_next_option(text, groups[-1], claim):
            groups[-1].append(claim)
        else:
            groups.append([claim])
    menus = [len({claim.marks for claim in group}) > 1 for group in groups]
    return [
        Claim(group[0].start, group[-1].end, ILLEGAL, MENU) if is_menu else group[-1]
        for group, is_menu in zip(groups, menus, strict=True)
    ]


def _is_next_option(text: str, group: list[Claim], claim: Claim) -> bool:
    gap = text[group[-1].end : claim.start]
    if "\n" not in gap:
        return _OPTION_GAP.fullmatch(gap) is not None or (gap.endswith(": ") and not CUE.search(gap))
    heads = [text[text.rfind("\n", 0, option.start) + 1 : option.start] for option in (group[0], claim)]
    is_new = text[claim.start : claim.end] not in {text[option.start : option.end] for option in group}
    return is_new and all(_MENU_LINE.match(head) and not _names_criterion(head) for head in heads)


def _names_criterion(head: str) -> bool:
    return not TIED_OPTION.match(head) and not ASPECTS.isdisjoint(re.findall(r"\w+", head.casefold()))
