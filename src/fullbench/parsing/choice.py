"""Parser for choices: a letter, a comparison, or a sentence about the better response."""

from __future__ import annotations

import re

from fullbench.parsing.reply_patterns_and_plain_text_conversion import (
    CUE,
    EVEN,
    NEGATION,
    NOUN,
    TIE,
    clause,
    matches,
    position,
    ref,
)
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import (
    ILLEGAL,
    PROSE,
    RESPONSE,
    Claim,
    Form,
    Marks,
    chain,
    labels,
    unlabelled,
)

_SIGN = r"\s?([<>=~]{1,3})\s?"
_COMPARED = re.compile(rf"{ref('x')}(?:{_SIGN}{ref('y')}){{1,25}}(?P<both>\s?=\s?(?i:good|bad))?")
_ADVERB = (
    r"(?:slightly|much|clearly|significantly|definitely|marginally|overall|still|simply|a bit|somewhat|far|indeed|also"
    r"|clear|obvious|therefore|thus|the|a|considered|judged|deemed|by far|to be|just|generally|ultimately)"
)
_BETTER = (
    rf"(?:(?:is|was|'s|has been|are)\s(?:{_ADVERB}\s){{0,3}}"
    r"(?:better|best|superior|stronger|preferred|preferable|winner|winning)\b"
    r"|(?:wins|prevails|outperforms|beats|surpasses|won|edges out|comes out (?:on top|ahead))\b"
    r"|\s?(?:的(?:回答|回复|答案|图片|图像|表现))?(?:明显|显然|略|稍|整体|总体|确实)?"
    r"(?:更好|更优|更佳|最好|最佳|最优|胜出|获胜|胜|优于|好于|强于|略胜一筹))"
)
_WORSE = (
    r"(?:(?:is|was)\s(?:\w{1,14}\s){0,2}?(?:worse|inferior|weaker|worst)\b|(?:loses|lost)\b|(?:不如|更差|差于|劣于))"
)
_NOT_BETTER = (
    r"(?:(?:is|was)(?:n't|\snot)|does(?:n't|\snot)|(?:并|也)?(?:不|没有|没|并非))"
    r".{0,20}?(?:better|best|superior|win|preferred|更好|更优|胜|优于|好于)"
)
_OWNER = rf"(?:'s?(?:\s(?:{NOUN}|generated|edited|generated (?:image|video)|edited image)){{0,2}})?"
_WINS = re.compile(rf"{ref()}(?i:{_OWNER}\s?{_BETTER})")
_LOSES = re.compile(rf"{ref()}(?i:{_OWNER}\s?{_WORSE})")
_REFUSED_WIN = re.compile(rf"{ref()}(?i:{_OWNER}\s?{_NOT_BETTER})")
_CHOOSE = re.compile(
    r"(?i:\b(?:choose|chose|prefer|pick|select|vote for|go with|opt for|favou?r)\s(?:that\s)?"
    rf"|(?:我?选择?|倾向于?|更喜欢|投票?给)\s?:?\s?(?:了)?)[\"'(\[]{{0,3}}{ref()}"
)
_BETTER_IS = re.compile(
    rf"(?i:(?:更好的|更优的|最好的|最佳的?|胜者|胜出的?|获胜的?)(?:{NOUN})?\s?(?:是|为)\s?:?\s?){ref()}"
)
_TIED = re.compile(rf"(?i:{TIE})")
EVEN_WORDS = re.compile(rf"(?i:{TIE}|{EVEN})")
SAME = re.compile(rf"(?i:{TIE}|{EVEN}|(?:equal|(?:about )?the same)(?![a-z]))")
_OR_ANOTHER = re.compile(
    rf"\s?(?:,|/|\||&|(?i:\bor\b|\band\b|\bvs\.?)|或者?|和|与)\s?(?i:maybe |perhaps |possibly |also )?{ref()}"
)
_WORD_FOLLOWS = re.compile(r"'s\b|\s(?!(?i:because|as|since|over|for|by|based|due|given|than|with)\b)[a-z]")
_CUES = """
better best superior stronger prefer winner winning wins win won prevails outperforms beats surpasses edges comes 更好 更优 更佳 最好 最佳 最优 胜 优于 好于 强于
worse inferior weaker worst loses lost 不如 更差 差于 劣于
choose chose prefer pick select vote go opt favor favour 选 我选 倾向 更喜欢 投
更好的 更优的 最好的 最佳 胜者 胜出 获胜
tie draw winner both equal 平局 平手 打平 不相 不分 难分 一样 同样 都
"""  # noqa: E501
_WIN_WORDS, _LOSS_WORDS, _CHOICE_WORDS, _BEST_WORDS, _TIE_WORDS = (row.split() for row in _CUES.strip().split("\n"))
_SMALL = re.compile(rf"(?:(?i:{NOUN})[ _-]?)?([a-z])")
_WHICH = re.compile(r"(?i)better|best|preferred|winning|winner|choice|preference|胜|选择")
_DIGIT = re.compile(r"(\d{1,2})(?![\w.]\d)(?!\w)")


class ChoiceForm(Form):
    """The best of n responses, or all of them even. For a tie the letter after the last may be written."""

    def __init__(self, tie: bool) -> None:
        self.tie = tie

    def pieces(self, n: int) -> int:
        return 1

    def wins(self, index: int, n: int) -> Marks:
        return tuple(float(i == index) for i in range(n)) if 0 <= index < n else ILLEGAL

    def even(self, n: int) -> Marks:
        return (1 / n,) * n if self.tie else ILLEGAL

    def letter(self, match: re.Match[str], n: int, digits: bool) -> Marks:
        """Return a reference as marks: a bare letter after the last is a tie; bare digits count only if allowed."""
        index = position(match)
        if match["bare"] and index == n:
            return self.even(n)
        return ILLEGAL if (match["letter"] or "").isdigit() and index < 0 and not digits else self.wins(index, n)

    def compared(self, match: re.Match[str], n: int) -> Marks:
        """Return the winner of `A>>B`, `A=B`, `B>A>C`, or a tie; anything less is not a choice."""
        order, signs = chain(match[0])
        if sorted(order) != list(range(n)) or "mixed" in signs:
            return ILLEGAL
        if set(signs) == {"="}:
            return self.even(n)
        return self.wins(order[0], n) if signs[0] == ">" and not match["both"] else ILLEGAL

    def phrase(self, raw: str, n: int, *, digits: bool = False) -> Marks | None:
        body = unlabelled(raw)
        if match := _SMALL.fullmatch(body):
            body = match[1].upper()
        if SAME.fullmatch(body):
            return self.even(n)
        if match := _COMPARED.fullmatch(body):
            return self.compared(match, n)
        if match := RESPONSE.fullmatch(body):
            return self.letter(match, n, digits)
        if match := _WINS.match(body):
            return self.wins(position(match), n)
        if digits and body.isdigit():
            return self.wins(int(body) - 1, n)
        return ILLEGAL if re.match(r"[\d<>=]|(?i:neither|none|both)\b", body) or RESPONSE.match(body) else None

    def bracketed(self, raw: str, n: int, *, is_last_line: bool) -> Marks | None:
        if raw.casefold() in {"both", "both equal", "both equally", "either"}:
            return self.even(n)
        return self.phrase(raw, n, digits=is_last_line)

    def lead(self, rest: str, n: int, digits: bool) -> tuple[Marks | None, int]:
        skip = re.match(r"[\s\"'(\[]{0,4}(?i:that\s)?", rest)
        at = skip.end() if skip else 0
        if match := SAME.match(rest, at):
            return self.even(n), match.end()
        if match := _COMPARED.match(rest, at):
            return self.compared(match, n), match.end()
        if match := RESPONSE.match(rest, at):
            return self.referred(match, rest, n, digits)
        if digits and (match := _DIGIT.match(rest, at)):
            hedged = re.match(r"\s?(?:or|/|,|and|-|或)\s?\d", rest[match.end() :])
            return (ILLEGAL if hedged else self.wins(int(match[1]) - 1, n)), match.end()
        return (ILLEGAL if re.match(r"(?i:not|neither|none|either|unclear|undecided)\b", rest[at:]) else None), at

    def referred(self, match: re.Match[str], rest: str, n: int, digits: bool) -> tuple[Marks | None, int]:
        marks: Marks | None = self.letter(match, n, digits)
        if _OR_ANOTHER.match(rest, match.end()) or _REFUSED_WIN.match(rest, match.start()):
            marks = ILLEGAL
        elif _WINS.match(rest, match.start()):
            marks = self.wins(position(match), n)
        elif _LOSES.match(rest, match.start()):
            marks = self.wins(1 - position(match), n) if n == 2 else ILLEGAL
        elif _WORD_FOLLOWS.match(rest, match.end()):
            marks = None
        return marks, match.end()

    def labelled(self, text: str, n: int) -> list[Claim]:
        claims = []
        for label in labels(text):
            marks, end = self.lead(label.rest, n, digits=_WHICH.match(label.key) is not None)
            if marks is not None:
                claims.append(Claim(label.start, label.end + end, marks, label.kind))
        is_label_and_verdict = "\n" not in text and claims and not text[claims[-1].end :].strip(" .")
        if is_label_and_verdict and claims[-1].marks and not claims[-1].kind:
            return claims  # No sentence follows.
        return sorted(claims + self.concluded(text, n))

    def concluded(self, text: str, n: int) -> list[Claim]:
        """Return sentences that name the better response. A denial makes an earlier claim of that win void."""
        stated: list[Claim] = []

        def add(match: re.Match[str], marks: Marks, kind: str = PROSE, *, weak: bool = False) -> None:
            before = clause(text, match.start())
            asked = re.match(r"[^.!\n]{0,60}\?", text[match.end() :])
            if not (NEGATION.search(before) or asked or re.search(rf"{NOUN}?\s?[A-Z]\s(?:or|and|nor)\s$", before)):
                final = CUE.search(before) and not weak
                stated.append(Claim(match.start(), match.end(), marks, "" if final else kind))

        for m in matches(_WINS, text, _WIN_WORDS, before=120, after=20):
            add(m, self.wins(position(m), n))
        for m in matches(_LOSES, text, _LOSS_WORDS, before=120, after=20) if n == 2 else ():
            add(m, self.wins(1 - position(m), n))
        for pattern, words in ((_CHOOSE, _CHOICE_WORDS), (_BETTER_IS, _BEST_WORDS)):
            for m in matches(pattern, text, words, before=1, after=80):
                add(m, ILLEGAL if _OR_ANOTHER.match(text, m.end()) else self.wins(position(m), n), "")
        for m in matches(EVEN_WORDS, text, _TIE_WORDS, before=40, after=60):
            if m[0].casefold() not in {"tie", "draw"}:
                add(m, self.even(n), weak=not _TIED.match(m[0]))
        for m in matches(_REFUSED_WIN, text, _WIN_WORDS, before=120, after=20):
            earlier = [claim for claim in stated if claim.start < m.start()]
            if earlier and max(earlier).marks == self.wins(position(m), n):
                stated.append(Claim(m.start(), m.end(), ILLEGAL, max(earlier).kind))
        return stated
