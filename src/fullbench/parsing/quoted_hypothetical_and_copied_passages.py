"""Passages of a reply that are not the judge's: quotations, attributed or hypothetical verdicts, copied responses."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from functools import cached_property, lru_cache

from fullbench.parsing.reply_patterns_and_plain_text_conversion import KEY, NOUN, clause, plain

OWN_LETTERS, LONG_COPY, SENTENCE, REACH = 6, 60, 160, 300
QUOTED = "\0"
"""Sign in the place of a quotation."""
_PLACES = 40

# Quotation by its marks.

_FENCE = re.compile(r"(?<!`)`{3,}|~{3,}")
_MOST_FENCES = 200
_FORM_SIGN = re.compile(r"[\[\]{}<>:=]")
_BLOCK = re.compile(r"(?:^[ \t]*>[^\n]*(?:\n|\Z))+", re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`([^`\n]{1,400})`(?!`)")
_ELEMENT = re.compile(
    r"<!--.*?(?:-->|\Z)|<(blockquote|quote|q|cite)\b[^<>]{0,60}>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_ONLY_FORM = re.compile(
    r"[\W_]*\[\[[^\[\]\n]{1,40}\]\](?:[\W_]{0,4}\[\[[^\[\]\n]{1,40}\]\]){0,25}[\W_]*|\s*\{.*\}\s*", re.DOTALL
)


def whole_object(text: str) -> str:
    """Return the JSON object that is the whole reply but for a code fence; empty if the reply is anything else."""
    start, end = text.find("{"), text.rfind("}") + 1
    if not 0 <= start < end or text[:start].strip(" \n`~json") or text[end:].strip(" \n`~"):
        return ""
    try:
        json.loads(text[start:end], strict=False)
    except (ValueError, RecursionError):
        return ""
    return text[start:end]


def without_quotations(text: str, responses: ShownTexts) -> str:
    """Return plain text with a mark for code fences, block quotes, inline code and quoting elements.

    A fence, a block quote or a code span that holds only a form is a way to write the verdict: it stays, unless the
    words before it attribute it or more words of the reply follow it.
    """
    if "```" in text or "~~~" in text:
        text = _without_fences(text, responses)
    if ">" in text and (text.lstrip().startswith(">") or "\n>" in text or "\n >" in text):
        text = _BLOCK.sub(
            lambda match: _kept(
                text, match.start(), match.end(), match[0].lstrip(" >").replace("\n>", "\n "), responses
            ),
            text,
        )
    if "`" in text:
        text = _INLINE.sub(_without_code, text)
    if "<" in text:
        text = _ELEMENT.sub(QUOTED, text)
    return plain(text)


def _without_code(span: re.Match[str]) -> str:
    is_kept = not _FORM_SIGN.search(span[1]) or _is_form(span[1])
    return span[1] if is_kept else _FORM_SIGN.sub(QUOTED, span[1])


def _is_form(words: str) -> bool:
    if len(words.strip()) <= 3:
        return True
    words = plain(words)
    return ("[[" in words or "{" in words) and _ONLY_FORM.fullmatch(words) is not None


def _without_fences(text: str, responses: ShownTexts) -> str:
    """Pair the fences of a text in order; one that is never closed is no fence."""
    fences = list(_FENCE.finditer(text))[:_MOST_FENCES]
    parts, at, number = [], 0, 0
    while number < len(fences):
        opening = fences[number]
        pairs = (place for place in range(number + 1, len(fences)) if _closes(text, opening[0], fences[place]))
        if (closing := next(pairs, None)) is None:
            number += 1
            continue
        start, end = opening.start(), fences[closing].end()
        content = text[opening.end() : fences[closing].start()]
        content = content.partition("\n")[2] if "\n" in content else content
        parts += [text[at:start], _kept(text, start, end, content, responses)]
        at, number = end, closing + 1
    return "".join([*parts, text[at:]])


def _closes(text: str, opening: str, fence: re.Match[str]) -> bool:
    same = fence[0][0] == opening[0] and len(fence[0]) >= len(opening)
    return same and not text[fence.end() : fence.end() + 1].isalnum()


def _kept(text: str, start: int, end: int, content: str, responses: ShownTexts) -> str:
    """Return the content of a passage that only holds a verdict of the judge, else the mark of a quotation."""
    before = plain(text[max(0, start - REACH) : start])
    ends = not text[end:].strip() or (content.lstrip().startswith("{") and not responses.hold(content, 0, len(content)))
    if ends and _is_form(content) and not is_attributed(before, len(before)):
        name = before.rstrip(" *\n").rpartition("\n")[2]
        if not (name and (_TURNS_TO.search(name) or (name.endswith((":", ">")) and _is_name(name)))):
            return f"\n{content.strip()}\n"
    return f"{QUOTED}\n"


def is_in_quotation_marks(text: str, start: int, end: int) -> bool:
    """Return True if a form is inside quotation marks, also if these began on an earlier line.

    >>> text = 'It ends with "the verdict is [[5]]".'
    >>> is_in_quotation_marks(text, text.index("["), text.index("]") + 2)
    True
    """
    head = text[text.rfind("\n", 0, start) + 1 : start]
    tail = text[end : (text + "\n").find("\n", end)]
    after = tail.lstrip(" .)")[:1]
    if '"' in tail and head.count('"') % 2:
        # "Rating: "[[4]]"": only the form is quoted, after a label of the judge's.
        return not (head.endswith('"') and after == '"' and _LABEL_END.search(head[:-1]))
    if after == '"':
        earlier = text[max(0, start - 2 * REACH) : start]
        return earlier.count('"') % 2 == 1 or _OPENED.search(earlier) is not None
    return "'" in tail and _SINGLE_OPENED.search(head) is not None and _SINGLE_CLOSED.search(tail) is not None


_OPENED = re.compile(r"(?:^|[\s:(,>-])\"(?=\S)[^\"]*$")
_SINGLE_OPENED, _SINGLE_CLOSED = re.compile(r"(?:^|[\s:(])'(?=\S|$)[^'\n]{0,200}$"), re.compile(r"\S'(?![A-Za-z])|^'")
_LABEL_END = re.compile(rf"(?:{KEY}|overall)(?:\s?[:=]|\sis|为|是)\s?$", re.IGNORECASE)

# Attribution, within its sentence.

_SAYS = re.compile(
    r"(?:\b(?:says?|said|saying|wr[io]tes?|wrote|writing|claims?|claimed|claiming|states|stating|tells?|telling|asks?"
    r"|asking|instructs?|instructing|demands?|demanding|injects?|quotes?|quoting|reads|ends with|ending with"
    r"|begins with|contains?|containing|wants?|adds|repeats?|handed in|gives itself|giving itself|gave itself|gave"
    r"|prints?|printed|outputs?|an? instruction|verbatim|planted|embedded|injected|ignor(?:e|ed|ing)"
    r"|disregard(?:ed|ing)?)\b"
    r"|写道|声称|要求|试图|写着|注入|(?<!来)说(?!明)|引用|原文|写的是|内容(?:是|为)|回答(?:是|为)|忽略|无视|嵌入)",
    re.IGNORECASE,
)
_SAY_WORDS_TEXT = """
say says said saying writes writing write wrote claim claims claimed claiming states stating tell tells
telling ask asks asking instruct instructs instructing demand demands demanding inject injects quote quotes quoting
reads ends ending begins contain contains containing want wants adds repeat repeats handed gives giving gave print
prints printed output outputs instruction text verbatim planted embedded injected ignore ignored ignoring disregard
disregarded disregarding
"""
_SAY_WORDS = frozenset(_SAY_WORDS_TEXT.split())
_LOWER_WORD = re.compile(r"[a-z]+")
_OWN_SUBJECT = re.compile(
    r"(?:\b(?:i|i'd|i'll|we|would|will|must|to|not|no|my|our|verdict|rating|score|judge?ment|ruling|decision)|我)"
    r"[\s,]*(?:\w+ly\s)?$",
    re.IGNORECASE,
)
_STOCK_TEXT = """
the an is are was be as of to in on for it its this that my your our we and or so thus therefore hence overall final
finally conclusion verdict answer rating score scores grade judgement judgment decision choice ranking rank order
result winner preference better best worse worst good bad tie tied both equal equally response responses assistant
assistants model models image images option candidate output would give rate choose pick select prefer than with
following analysis reason json points point stars out because ruling judge answers note mark me us judges line follows
verify i a at these given above reasons below now settle will change changed revise revised reflection correction
actually instead here please luck itself s d ll
我 的 是 为 最 终 后 总 评 分 得 数 结 论 判 断 答 案 选 择 排 名 序 果 更 好 优 差 胜
平 局 因 此 所 以 综 上 回 复 图 片 给 打 裁 决 述 定 体 这 个 在 第
"""
_STOCK = frozenset(_STOCK_TEXT.split())
_WORD = re.compile(r"[a-z]+|[\u3400-\u9fff]", re.IGNORECASE)
_IS_THEIRS = re.compile(
    r"[^\w\[\]{}\n]{0,4}(?:(?:which|that|this|but|and|is|was|were|are|it|i|we|has been|is what|as|an?|the)"
    r"[ ,]{1,2}){0,5}(?:ignor\w+|disregard\w*|embedded|planted|injected|inject\w*|instruct\w*|attempt\w*|reject\w*"
    r"|put in|written by|quoted|quotation|no part|not mine|not my|manipulat\w+|wrote|writes?|says?|said|claims?|gave"
    rf"|(?:what )?(?:the )?(?:{NOUN}|contestant|author|candidate) \w+ (?:gave|says?|wrote|writes|claims))"
    r"|[^\w\[\]{}\n]{0,3}(?:我)?(?:不予|忽略|无视|不理会|是.{0,6}(?:写|要求))",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?\n](?:(?<=\n)|(?=[\s\"'),A-Z]|$))|(?<=[\u3400-\u9fff]);")
_OPENING_SIGNS = " \t\n\r\"'<>*_~|([{/#-"
_TURNS_TO = re.compile(
    rf"\b(?:look(?:ing)? at|consider|turn(?:ing)? to|examine|review|read(?:ing)?|here (?:is|are|comes?)|take"
    rf"|starts? with|on to|move to|see|tries)\b[^\n.]{{0,24}}"
    rf"(?:{NOUN}|contestant|candidate|author)s?\b[^\n.]{{0,12}}[.:]?$"
    r"|(?:来?看|先看|再看|下面是|以下是)[^\n.]{0,12}[.:]?$",
    re.IGNORECASE,
)
_NAME = re.compile(
    rf"^\W*[\w ',-]{{0,30}}?(?<![A-Za-z])(?:{NOUN}|contestant|candidate|author|submission|verbatim|原文"
    r"|(?-i:[A-HJ-Z](?![A-Za-z])))[^\n]{0,30}[:>).,|*]*$",
    re.IGNORECASE,
)


def _is_name(line: str) -> bool:
    return line[-1:] not in "!?" and (line[-1:] != "." or line.endswith("this.")) and _NAME.search(line) is not None


def own_words(text: str) -> int:
    """Return the number of letters in words that are not stock words of verdicts; a Chinese character counts 3."""
    words = (word for word in _WORD.findall(text) if word.casefold() not in _STOCK)
    return sum(len(word) if word.isascii() else 3 for word in words if len(word) > 1 or not word.isascii())


def _may_hold(words: str, first_words: frozenset[str]) -> bool:
    """Return False if English words hold none of these: a set is looked up ten times as fast as a long pattern."""
    return not words.isascii() or not first_words.isdisjoint(_LOWER_WORD.findall(words.lower()))


def is_stock(text: str) -> bool:
    """Return True if a line has only stock words of verdicts, or none."""
    return not text or all(word.lower() in _STOCK for word in _WORD.findall(text[:80]))


def is_attributed(text: str, start: int, end: int | None = None) -> bool:
    """Return True if the sentence around a form says that somebody else wrote it.

    >>> is_attributed("Response A says [[5]].", 16), is_attributed("It is poorly written.\\n\\n[[1]]", 23)
    (True, False)
    """
    if end is not None and _IS_THEIRS.match(text, end):
        return True
    head = text[max(0, start - SENTENCE) : start]
    words = head.rstrip(_OPENING_SIGNS)
    newlines = head.count("\n", len(words))
    if newlines:
        head = words
    sentence = _SENTENCE.split(head[head.rfind("\n") + 1 :])[-1]
    if not _may_hold(sentence, _SAY_WORDS):
        return False
    verb = next(reversed(list(_SAYS.finditer(sentence))), None)
    if verb is None or _OWN_SUBJECT.search(sentence, 0, verb.start()):
        return False
    if newlines and not head.endswith(":"):
        return verb.end() == len(sentence) and newlines == 1
    return is_stock(sentence[verb.end() :])


# A verdict that is only spoken of: "a perfect answer would be [[5]]", "rating: 5 would be too generous".

_AT_ONCE = (
    r"(?:\s(?:a|an|the|as|at|worth|really|quite|even|just|mere|full|clear|rated?|score of|rating of)){0,3}"
    r"[\s\"'(]{0,3}$"
)
_HYPOTHETICAL = re.compile(
    rf"\b(?:not|never|instead of|rather than|less than|more than|short of|far from|unlike|nowhere near|close to|almost"
    rf"|without being|cannot be|can't be|isn't|wasn't){_AT_ONCE}"
    # "The better response is [[A]]" is a verdict.
    r"|(?:\b(?:perfect|ideal|flawless|faultless|complete|fuller|fully \w+|excellent)"
    r"|(?<!\bthe )\b(?:better|stronger|correct|good|worse))\s"
    rf"(?:{NOUN}|one|description|solution|version)s?\s(?:\w+\s){{0,3}}?"
    r"(?:would|should|could|might|must|deserves?|gets?|earns?|merits?|is|receives?)\b[^.!?;\[\n]{0,30}$"
    r"|\b(?:embedded|planted|hidden|injected|ignor(?:e|ed|ing)|disregard(?:ed|ing)?|tempted to (?:give|say|write)"
    r"|(?:to|not|hardly|cannot|can't|won't) (?:get|earn|reach|deserve|merit|justify)|fake|so-called|demands?|begs? for)"
    r"[^.!?,;\n]{0,40}$"
    r"|\b(?:for|reserved for|reserve)\s(?:a|an)\s?[\"'(]{0,3}$"
    r"|(?:完美|理想|满分|更好)的?(?:回答|答案)[^.!?;\[\n]{0,20}$|(?:而不是|而非|并非|不是|不到|够不上|不应给|不该给|无视|忽略|嵌入的?)\s{0,2}$",
    re.IGNORECASE,
)
_HYPOTHETICAL_WORDS_TEXT = """
not never instead rather less more short far unlike nowhere close almost without cannot can isn wasn perfect ideal
flawless faultless complete better stronger fuller fully excellent correct good worse embedded planted hidden
injected ignore ignored ignoring disregard disregarded disregarding tempted to hardly won fake so demand demands beg
begs for reserve reserved
"""
_HYPOTHETICAL_WORDS = frozenset(_HYPOTHETICAL_WORDS_TEXT.split())
_DISMISSED = re.compile(
    r"[\"')]{0,3}\s?(?:points?|stars?|分)?,?\s?(?:(?:is|was|seems|feels|would be|would have been|might be|could be"
    r"|may be|sounds)\s(?:clearly |simply |just |perhaps |far |a bit |a little |much |rather |slightly |way )*"
    r"(?:too|overly|undeserved|excessive|unfair|unjust|out of the question|wrong|not (?:deserved|warranted|justified"
    r"|right|my)|more than|generous|harsh|reserved|what (?:it|the|they|response))"
    r"|would (?:need|require|take|mean|imply|overstate|reward|ignore|go)\b"
    r"|(?:会|就|未免|显得|似乎|有些|有点)?(?:太高|太低|过高|过低|偏高|偏低|太严|太宽))",
    re.IGNORECASE,
)


def is_hypothetical(text: str, start: int, end: int) -> bool:
    """Return True if the sentence speaks of a verdict without giving it.

    >>> is_hypothetical("A perfect answer would be [[5]].", 26, 31), is_hypothetical("My rating is [[5]].", 13, 18)
    (True, False)
    """
    before = clause(text, start)
    if _may_hold(before, _HYPOTHETICAL_WORDS) and _HYPOTHETICAL.search(before):
        return True
    return _DISMISSED.match(text, end) is not None


# Copies of what was shown. Letters, digits, brackets and braces are compared, so that the way of quoting, escapes and
# line breaks do not matter.

_ESCAPED = r"\\u[0-9a-fA-F]{4}|\\[nrt]|&(?:#\d{1,6}|#x[0-9a-fA-F]{1,5}|[a-z]{2,6});|<br ?/?>"
_LIST_SIGN = re.compile(r"(?:^|[\s'\"(])(?:\d{1,3}[.)]|[-*•])[ \t]*$")
_RARE = re.compile(rf"{_ESCAPED}|(?:`{{3,}}|~{{3,}})\w*|(?:^|(?<=\n))[ \t]*(?:(?:[>|+•·-]|\d{{1,3}}[.)](?=\s))[ \t]*)+")
_DROPPED = re.compile(r"[^\w\[\]{}]+|_+")


def _decoded(match: re.Match[str]) -> str:
    escape = match[0]
    if escape.startswith("\\u"):
        return chr(int(f"0x{escape[2:]}", 0))
    return html.unescape(escape) if escape.startswith("&") else " "


@lru_cache(maxsize=64)
def squeezed(text: str) -> str:
    """Return the letters, digits, brackets and braces of a text.

    >>> squeezed("> Eight legs.\\n> **[[A]]**"), squeezed('"Eight legs.\\\\n[[A]]"')
    ('eightlegs[[a]]', 'eightlegs[[a]]')
    """
    return _DROPPED.sub("", plain(_RARE.sub(_decoded, text))).casefold()


class ShownTexts:
    """Texts that the judge was shown and did not write, for comparison with its reply."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = [text for text in texts if text.strip()]

    @cached_property
    def squeezed(self) -> list[str]:
        return [squeezed(text) for text in self.texts]

    def hold(self, text: str, start: int, end: int) -> bool:
        """Return True if the form at this place occurs in a text that was shown."""
        core = squeezed(text[start:end])
        return any(core in shown for shown in self.squeezed)

    def may_hold(self, words: str) -> bool:
        """Return False if the longest of these words is in no text that was shown: no copy then, at little cost."""
        longest = max(_WORD.findall(words), key=len, default="")
        tail = longest[1:] or longest  # the first letter may be a capital or not
        return any(tail in text for text in self.texts)

    def copies(self, text: str, start: int, end: int) -> bool:
        """Return True if a form stands in a shown text among the same words, at least `OWN_LETTERS` of them its own."""
        return self.copied_run(text, start, end)[0] >= OWN_LETTERS

    def introduces(self, text: str, start: int, end: int, *, by_name: bool = False) -> bool:
        """Return True if a passage around the form is a copy, and the words before it name its author.

        A short passage without words of its own needs a verb ("Response A says"), or a name above it if `by_name`. A
        dozen words in a row that a response has, too, need no introduction.
        """
        own, before, after = self.copied_run(text[:start].replace(QUOTED, "\1") + text[start:], start, end)
        if own < 0:
            return False
        if own >= LONG_COPY or _IS_THEIRS.match(after):
            return True
        before = _LIST_SIGN.sub("", before)
        if not _WORD.search(before):
            return own >= OWN_LETTERS
        head = before.rstrip(" \"'<>*_~|([{/#-\n")
        line = head.rpartition("\n")[2]
        if _TURNS_TO.search(line) or is_attributed(before, len(before)):
            return True
        is_above = by_name and ("\n" in before[len(head) :] or line.endswith(")"))
        return (own >= OWN_LETTERS or is_above) and len(line) <= 60 and _is_name(line)

    def copied_run(self, text: str, start: int, end: int) -> tuple[int, str, str]:
        """Return the own letters of the longest copied passage around a form, -1 if none, and the words around it."""
        core = squeezed(text[start:end])
        left = _RARE.sub(_decoded, text[max(0, start - REACH) : start])
        right = squeezed(text[end : end + REACH])
        left_squeezed = squeezed(left)
        inner = own_words(text[start:end]) if core[:1] == "{" else 0
        # A passage that is half blanked out as a quotation has its words there.
        is_next = left.rstrip().endswith(QUOTED) or text[end:].lstrip(" .\n").startswith(QUOTED)
        next_to_quotation = OWN_LETTERS * is_next
        best = (-1, left, "")
        for response_text in self.squeezed:
            at = response_text.find(core)
            for _ in range(_PLACES):
                if at == -1:
                    break
                before = _same_signs(left_squeezed[::-1], response_text[max(0, at - REACH) : at][::-1])
                after = _same_signs(right, response_text[at + len(core) : at + len(core) + REACH])
                cut = _place_of_tail(left, before)
                if not _WORD.search(left, cut):  # a number before the form is the same by chance
                    cut = len(left)
                tail = _place_of_tail(text[end : end + REACH][::-1], after)
                copied = text[end : end + REACH][::-1][tail:][::-1]
                rest = text[end + len(copied) : end + len(copied) + 80].lstrip(" \"'.)]}`")
                own = inner + own_words(left[cut:]) + own_words(copied) + next_to_quotation
                best = max(best, (own, left[:cut], rest), key=lambda run: run[0])
                at = response_text.find(core, at + 1)
        return best


def _same_signs(one: str, other: str) -> int:
    """Return the length of the longest common beginning."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _place_of_tail(text: str, kept: int) -> int:
    """Return where the last `kept` letters of a text start, at the start of a word."""
    at = len(text)
    while kept > 0 and at > 0:
        at -= 1
        kept -= text[at].isalnum() or text[at] in "[]{}"
    if 0 < at < len(text) and text[at - 1].isascii() and text[at - 1].isalpha() and text[at].isalpha():
        while at < len(text) and text[at].isalpha():
            at += 1
    return at


def is_copied_whole(reply: str, responses: Sequence[str]) -> bool:
    """Return True if the whole text of a reply occurs in a response.

    A run of letters in the middle of its longest line is looked up first, which settles nearly all replies.
    """
    lines = reply.replace("\\n", "\n").split("\n")
    longest = max(lines, key=len).strip(" >|*`\"'#-")
    middle = max(0, len(longest) // 2 - 12)
    probe = longest[middle : middle + 24]
    if not any(probe in response for response in responses):
        return False
    core = squeezed(reply)
    return len(core) > 0 and any(core in squeezed(response) for response in responses)
