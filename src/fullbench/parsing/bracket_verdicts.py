"""Verdicts in double brackets, and menus of options that only look like them."""

from __future__ import annotations

import re

from fullbench.parsing.numbers import ValueForm
from fullbench.parsing.verdict_form_base import CHECKED, ECHO, ILLEGAL, PLACEHOLDER, Claim, Form, trim
from fullbench.parsing.vocabulary import CUE

MARKER = re.compile(
    r"\[\[[^\[\]]{1,120}\](?:\s?[,;>=]{0,2}\s?\[[^\[\]]{1,40}\]){0,26}\]?|\[[^\[\]\n]{1,40}\]\]"
)  # fmt: skip
_BRACKETS = re.compile(r"[\[\]]")
_OUT_OF = re.compile(r"\s?(?:/|out of)\s?\d+(?:\.\d+)?")
_SIGNS = re.compile(r"\s?[<>=~]{1,3}\s?")
_LINKS = re.compile(
    r"(?i)\s{0,4}(?:[,;>&|<=~]{1,2}|,?\s?(?:then|followed by|and then|and)\b|然后|其次|再|和)?\s{0,4}"
    r"(?:\(?\d{1,2}[.):]|(?:\d(?:st|nd|rd|th)|second|third|fourth|fifth|last|worst)\b[ :]{0,2}(?:place)?:?)?\s{0,3}"
)
_MENU_MARK = re.compile(r"[A-Z0-9]\s?[/|]\s?[A-Z](?![A-Za-z])|\bor\b|或|[A-Z]/[A-Z]|\d\s?\|\s?\d")
_OPTION_GAP = re.compile(
    r"[^\w\n]{0,4}(?:(?:or|and|to|through|以及|或者|或|和|到)[^\w\n]{0,4})?"
    r"|(?!.*(?i:\b(?:but|however|yet|although|instead|actually|then)\b)|.*[但却而])"
    r".{0,120}(?:(?i:\b(?:if|when|means?)\b|\bfor (?:an? )?(?:\w+ )?(?:tie|draw|response|assistant|answer)\b)"
    r"|如果|若|表示|代表|时).{0,120}"
)
_MENU_LINE = re.compile(
    r"\s*(?:\(?\d[.):]|[-•·(]|if\b)|.{0,200}(?:\bif\b|\bwhen\b|\bfor\b|如果|若|表示|代表)", re.IGNORECASE
)
LISTED = re.compile(r"\s*(?:[-•·]|(\d)[.)])\s")


class Markers:
    """Reads the double brackets of a reply."""

    def __init__(self, form: Form, n: int) -> None:
        self.form, self.n = form, n

    def claims(self, text: str) -> list[Claim]:
        markers = [m for m in MARKER.finditer(text) if not PLACEHOLDER.fullmatch(trim(m[0]))]
        if self.form.pieces(self.n) == 1:
            return self.menus(text, [self.marked(text, run) for run in _runs(text, markers, _SIGNS, 1)[-CHECKED:]])
        runs = _runs(text, markers, _LINKS, self.form.pieces(self.n))[-CHECKED:]
        claims = [self.marked(text, run) for run in runs]
        if isinstance(self.form, ValueForm) and not (claims and claims[-1].marks):
            return self.apart(self.form, text, markers) or claims
        return claims

    def marked(self, text: str, run: list[re.Match[str]]) -> Claim:
        start, end = run[0].start(), run[-1].end()
        if fraction := _OUT_OF.match(text, end):
            end = fraction.end()
        if _MENU_MARK.search(text[start:end]):
            return Claim(start, end, ILLEGAL, ECHO)
        raw = " ".join(_BRACKETS.sub(" ", text[start:end]).split())
        return self.form.turned(text, start, end, self.form.phrase(raw, self.n) or ILLEGAL)

    def apart(self, form: ValueForm, text: str, markers: list[re.Match[str]]) -> list[Claim]:
        """Marks given one by one, each after the name of its response; else exactly as many as responses, in order."""
        rows, at = [], 0
        for match in markers[-CHECKED:]:
            rows.append(text[max(at, match.start() - 60) : match.end()].rpartition("\n")[2])
            at = match.end()
        if claims := form.named("\n".join(rows), self.n):
            return [Claim(markers[0].start(), markers[-1].end(), claims[-1].marks)]
        if len(markers) == self.n:
            raw = ", ".join(trim(match[0]) for match in markers)
            return [Claim(markers[0].start(), markers[-1].end(), form.phrase(raw, self.n) or ILLEGAL)]
        return []

    def menus(self, text: str, claims: list[Claim]) -> list[Claim]:
        """Claims with each menu of options, in one line or one a line, put together as an echo."""
        merged: list[Claim] = []
        for line in _by_line(text, claims):
            several = len({claim.marks for claim in line}) > 1
            merged.append(Claim(line[0].start, line[-1].end, ILLEGAL, ECHO) if several else line[-1])
        return _listed_menus(text, merged)


def _runs(text: str, markers: list[re.Match[str]], link: re.Pattern[str], pieces: int) -> list[list[re.Match[str]]]:
    """Markers with nothing but links between them belong together; a blank line ends a row that is complete."""
    runs: list[list[re.Match[str]]] = []
    for match in markers:
        end = runs[-1][-1].end() if runs else 0
        near = bool(runs) and match.start() - end < 24 and link.fullmatch(text, end, match.start()) is not None
        if near and not (len(runs[-1]) == pieces and "\n\n" in text[end : match.start()]):
            runs[-1].append(match)
        else:
            runs.append([match])
    return runs


def _by_line(text: str, claims: list[Claim]) -> list[list[Claim]]:
    """Claims of one line that are joined as options are: `[[A]] if ..., [[B]] if ...`, `[[1]] to [[5]]`.

    Three or more different ones on a line are options however they are joined, unless the last is called final.
    """
    lines: list[list[Claim]] = []
    for line in _same_line(text, claims):
        if len({claim.marks for claim in line}) > 2 and not CUE.search(text, line[-2].end, line[-1].start):
            lines.append(line)
            continue
        for place, claim in enumerate(line):
            if place and _OPTION_GAP.fullmatch(text, line[place - 1].end, claim.start):
                lines[-1].append(claim)
            else:
                lines.append([claim])
    return lines


def _same_line(text: str, claims: list[Claim]) -> list[list[Claim]]:
    lines: list[list[Claim]] = []
    for claim in claims:
        if lines and "\n" not in text[lines[-1][-1].end : claim.start]:
            lines[-1].append(claim)
        else:
            lines.append([claim])
    return lines


def _listed_menus(text: str, claims: list[Claim]) -> list[Claim]:
    """Claims with the options that are listed one a line put together as an echo."""
    merged: list[Claim] = []
    group: list[Claim] = []
    for claim in claims:
        if group and not _goes_on(text, group[-1], claim):
            merged, group = merged + _menu(text, group), []
        group.append(claim)
    return merged + _menu(text, group)


def _head(text: str, claim: Claim) -> str:
    return text[max(0, claim.start - 200) : claim.start].rpartition("\n")[2]


def _goes_on(text: str, first: Claim, second: Claim) -> bool:
    """Whether two claims stand on neighbouring lines, or on list items whose numbers follow each other."""
    if not any(line.strip() for line in text[first.end : second.start].split("\n")[1:-1]):
        return True
    numbers = [
        int(item[1]) for item in map(LISTED.match, (_head(text, first), _head(text, second))) if item and item[1]
    ]
    return len(numbers) == 2 and numbers[0] + 1 == numbers[1]


def _menu(text: str, group: list[Claim]) -> list[Claim]:
    """An echo where each line is an option, none comes twice, and the last is not called final."""
    heads = [_head(text, claim) for claim in group]
    options = {text[claim.start : claim.end] for claim in group}
    listed = len(group) > 1 and len(options) == len(group) and all(map(_MENU_LINE.match, heads))
    if listed and not CUE.search(heads[-1]):
        return [Claim(group[0].start, group[-1].end, ILLEGAL, ECHO)]
    return group
