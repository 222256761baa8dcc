"""Passages of a reply that are not the judge's: quotations, attributed or hypothetical verdicts, copied responses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

from fullbench.parsing.reply_patterns_and_plain_text_conversion import KEY, NOUN, clause, late_pattern, plain

OWN_LETTERS, LONG_COPY, SENTENCE, REACH = 6, 60, 160, 300
QUOTED = "\0"
"""Sign in the place of a quotation."""
_MOST_PLACES, _MOST_FENCES = 40, 200

# Quotation by its marks.

_FENCE = re.compile(r"(?<!`)`{3,}|~{3,}")
_FORM_SIGN = re.compile(r"[\[\]{}<>:=]")
_BLOCK = late_pattern(r"(?:^[ \t]*>[^\n]*(?:\n|\Z))+", re.MULTILINE)
_INLINE = late_pattern(r"(?<!`)`([^`\n]{1,400})`(?!`)")
_ELEMENT = late_pattern(
    r"<!--.*?(?:-->|\Z)|<(blockquote|quote|q|cite)\b[^<>]{0,60}>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_ONLY_FORM = late_pattern(
    r"[\W_]*\[\[[^\[\]\n]{1,40}\]\](?:[\W_]{0,4}\[\[[^\[\]\n]{1,40}\]\]){0,25}[\W_]*|\s*\{.*\}\s*", re.DOTALL
)
_OPENED = late_pattern(r"(?:^|[\s:(,>-])\"(?=\S)[^\"]*$")
_SINGLE_OPENED = late_pattern(r"(?:^|[\s:(])'(?=\S|$)[^'\n]{0,200}$")
_SINGLE_CLOSED = late_pattern(r"\S'(?![A-Za-z])|^'")
_LABEL_END = late_pattern(rf"(?:{KEY}|overall)(?:\s?[:=]|\sis|为|是)\s?$", re.IGNORECASE)


def without_quotations(text: str, responses: ShownTexts) -> str:
    """Return plain text with a mark for code fences, block quotes, inline code and quoting elements.

    A fence, a block quote or a code span that holds only a form is a way to write the verdict: it stays, unless the
    words before it attribute it or more words of the reply follow it.
    """
    if "```" in text or "~~~" in text:
        text = _without_fences(text, responses)
    if ">" in text and (text.lstrip().startswith(">") or "\n>" in text or "\n >" in text):
        whole = text
        text = _BLOCK.sub(
            lambda block: _kept(
                whole, block.start(), block.end(), block[0].lstrip(" >").replace("\n>", "\n "), responses
            ),
            whole,
        )
    if "`" in text:
        text = _INLINE.sub(lambda span: span[1] if _is_form(span[1]) else _FORM_SIGN.sub(QUOTED, span[1]), text)
    if "<" in text:
        text = _ELEMENT.sub(QUOTED, text)
    return plain(text)


def _is_form(words: str) -> bool:
    words = plain(words)
    return len(words.strip()) <= 3 or (("[[" in words or "{" in words) and _ONLY_FORM.fullmatch(words) is not None)


def _without_fences(text: str, responses: ShownTexts) -> str:
    """Pair the fences of a text in order; one that is never closed is no fence."""
    fences = list(_FENCE.finditer(text))[:_MOST_FENCES]
    parts, at = [], 0
    for number, opening in enumerate(fences):
        later = fences[number + 1 :] if opening.start() >= at else []
        closing = next((f for f in later if f[0].startswith(opening[0]) and not text[f.end() :][:1].isalnum()), None)
        if closing is not None:
            content = text[opening.end() : closing.start()]
            content = content.partition("\n")[2] if "\n" in content else content
            parts += [text[at : opening.start()], _kept(text, opening.start(), closing.end(), content, responses)]
            at = closing.end()
    return "".join([*parts, text[at:]])


def _kept(text: str, start: int, end: int, content: str, responses: ShownTexts) -> str:
    """Return the content of a passage that only holds a verdict of the judge, else the mark of a quotation."""
    before = plain(text[max(0, start - REACH) : start])
    ends = not text[end:].strip() or (content.lstrip().startswith("{") and not responses.hold(content))
    if ends and _is_form(content) and not is_attributed(before, len(before)):
        name = before.rstrip(" *\n").rpartition("\n")[2]
        if not (_TURNS_TO.search(name) or (name.endswith((":", ">")) and _is_name(name))):
            return f"\n{content.strip()}\n"
    return f"{QUOTED}\n"


def is_in_quotation_marks(text: str, start: int, end: int) -> bool:
    """Return True if a form is inside quotation marks, also if these began on an earlier line.

    >>> text = 'It ends with "the verdict is [[5]]".'
    >>> is_in_quotation_marks(text, text.index("["), text.index("]") + 2)
    True
    """
    head, tail = rest_of_line(text, start, end)
    after = tail.lstrip(" .)")[:1]
    if '"' in tail and head.count('"') % 2:
        # "Rating: "[[4]]"": only the form is quoted, after a label of the judge's.
        return not (head.endswith('"') and after == '"' and _LABEL_END.search(head[:-1]))
    if after == '"':
        earlier = text[max(0, start - 2 * REACH) : start]
        return earlier.count('"') % 2 == 1 or _OPENED.search(earlier) is not None
    return "'" in tail and _SINGLE_OPENED.search(head) is not None and _SINGLE_CLOSED.search(tail) is not None


def rest_of_line(text: str, start: int, end: int) -> tuple[str, str]:
    """Return the words before and after a place on its lines."""
    return text[text.rfind("\n", 0, start) + 1 : start], text[end : (text + "\n").find("\n", end)]


# Attribution, within its sentence.

_SAY_TEXT = """
say says said saying writes writing write wrote claim claims claimed claiming states stating tell tells
telling ask asks asking instruct instructs instructing demand demands demanding inject injects quote quotes quoting
reads ends ending begins contain contains containing want wants adds repeat repeats handed itself gave print
prints printed output outputs instruction verbatim planted embedded injected ignore ignored ignoring disregard
disregarded disregarding
"""
_SAY_WORDS = frozenset(_SAY_TEXT.split())
_SAYS_IN_CHINESE = late_pattern(
    r"写道|声称|要求|试图|写着|注入|(?<!来)说(?!明)|引用|原文|写的是|内容(?:是|为)|回答(?:是|为)|忽略|无视|嵌入"
)
_OWN_SUBJECT = late_pattern(
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
_WORD = re.compile(r"[A-Za-z]+|[\u3400-\u9fff]")
_LOWER_WORD = re.compile(r"[a-z]+")
_IS_THEIRS = late_pattern(
    r"[^\w\[\]{}\n]{0,4}(?:(?:which|that|this|but|and|is|was|were|are|it|i|we|has been|is what|as|an?|the)"
    r"[ ,]{1,2}){0,5}(?:ignor\w+|disregard\w*|embedded|planted|injected|inject\w*|instruct\w*|attempt\w*|reject\w*"
    r"|put in|written by|quoted|quotation|no part|not mine|not my|manipulat\w+|wrote|writes?|says?|said|claims?|gave"
    rf"|(?:what )?(?:the )?(?:{NOUN}|contestant|author|candidate) \w+ (?:gave|says?|wrote|writes|claims))"
    r"|[^\w\[\]{}\n]{0,3}(?:我)?(?:不予|忽略|无视|不理会|是.{0,6}(?:写|要求))",
    re.IGNORECASE,
)
_SENTENCE = late_pattern(r"[.!?\n](?:(?<=\n)|(?=[\s\"'),A-Z]|$))|(?<=[\u3400-\u9fff]);")
_OPENING_SIGNS = " \t\n\r\"'<>*_~|([{/#-"
_TURNS_TO = late_pattern(
    rf"\b(?:look(?:ing)? at|consider|turn(?:ing)? to|examine|review|read(?:ing)?|here (?:is|are|comes?)|take"
    rf"|starts? with|on to|move to|see|tries)\b[^\n.]{{0,24}}"
    rf"(?:{NOUN}|contestant|candidate|author)s?\b[^\n.]{{0,12}}[.:]?$"
    r"|(?:来?看|先看|再看|下面是|以下是)[^\n.]{0,12}[.:]?$",
    re.IGNORECASE,
)
_NAME = late_pattern(
    rf"^\W*[\w ',-]{{0,30}}?(?<![A-Za-z])(?:{NOUN}|contestant|candidate|author|submission|verbatim|原文"
    r"|(?-i:[A-HJ-Z](?![A-Za-z])))[^\n]{0,30}[:>).,|*]*$",
    re.IGNORECASE,
)


def _is_name(line: str) -> bool:
    """Return True if a line names an author; a whole sentence does not."""
    return (line[-1:] not in ".!?" or line.endswith("this.")) and _NAME.search(line) is not None


def own_letters(words: Iterable[str]) -> int:
    """Return the number of letters in words that are not stock words of verdicts; a Chinese character counts 3."""
    own = (word for word in words if word.isalpha() and word.casefold() not in _STOCK)
    return sum(len(word) if word.isascii() else 3 for word in own if len(word) > 1 or not word.isascii())


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
    head = words if newlines else head
    sentence = _SENTENCE.split(head[head.rfind("\n") + 1 :])[-1]
    if not _may_hold(sentence, _SAY_WORDS):
        return False
    verbs = [word for word in _WORD.finditer(sentence) if word[0].lower() in _SAY_WORDS]
    if not sentence.isascii():
        verbs += _SAYS_IN_CHINESE.finditer(sentence)
    verb = max(verbs, key=lambda match: match.start(), default=None)
    if verb is None or _OWN_SUBJECT.search(sentence, 0, verb.start()):
        return False
    if newlines and not head.endswith(":"):
        return newlines == 1 and sentence[verb.end() :].strip() in {"", "with"}
    return is_stock(sentence[verb.end() :])


# A verdict that is only spoken of: "a perfect answer would be [[5]]", "rating: 5 would be too generous".

_AT_ONCE = (
    r"(?:\s(?:a|an|the|as|at|worth|really|quite|even|just|mere|full|clear|rated?|score of|rating of)){0,3}"
    r"[\s\"'(]{0,3}$"
)
_HYPOTHETICAL = late_pattern(
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
_DISMISSED = late_pattern(
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
    is_before = _may_hold(before, _HYPOTHETICAL_WORDS) and _HYPOTHETICAL.search(before)
    return bool(is_before) or _DISMISSED.match(text, end) is not None


# Copies of what was shown. Words, brackets and braces are compared, so that the way of quoting, escapes and line breaks
# do not matter.

_RARE = late_pattern(
    r"\\u[0-9a-fA-F]{4}|\\[nrt]|&(?:#\d{1,6}|#x[0-9a-fA-F]{1,5}|[a-z]{2,6});|<br ?/?>|(?:`{3,}|~{3,})\w*"
    r"|(?:^|(?<=\n))[ \t]*(?:(?:[>|+•·-]|\d{1,3}[.)](?=\s))[ \t]*)+"
)
_TOKEN = re.compile(r"[A-Za-z0-9]+|[^\W_]|[\[\]{}]")
_LIST_SIGN = late_pattern(r"(?:^|[\s'\"(])(?:\d{1,3}[.)]|[-*•])[ \t]*$")


def _decoded(text: str) -> str:
    """Return text without the escapes and the signs at the start of lines that quoting adds."""

    def plain_sign(match: re.Match[str]) -> str:
        escape = match[0]
        if escape.startswith("\\u"):
            return chr(int(f"0x{escape[2:]}", 0))
        if not escape.startswith("&"):
            return " "
        import html  # late: its table of entities takes 3 ms, and few replies need it

        return html.unescape(escape)

    return _RARE.sub(plain_sign, text)


@lru_cache(maxsize=64)
def squeezed(text: str) -> str:
    """Return the words, brackets and braces of a text, with a space around each.

    >>> squeezed("> Eight legs.\\n> **[[A]]**"), squeezed('"Eight legs.\\\\n[[A]]"')
    (' eight legs [ [ a ] ] ', ' eight legs [ [ a ] ] ')
    """
    return f" {' '.join(_TOKEN.findall(plain(_decoded(text)).casefold()))} "


class ShownTexts:
    """Texts that the judge was shown and did not write, for comparison with its reply."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = [text for text in texts if text.strip()]

    @cached_property
    def squeezed(self) -> list[str]:
        return [squeezed(text) for text in self.texts]

    def hold(self, words: str) -> bool:
        """Return True if these words occur in a text that was shown."""
        core = squeezed(words)
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
        left, right = _decoded(text[max(0, start - REACH) : start]), _decoded(text[end : end + REACH])
        before, after = [*_TOKEN.finditer(left)][::-1], [*_TOKEN.finditer(right)]
        inner = own_letters(_WORD.findall(text[start:end])) if core.startswith(" {") else 0
        # A passage that is half blanked out as a quotation has its words there.
        is_next = left.rstrip().endswith(QUOTED) or text[end:].lstrip(" .\n").startswith(QUOTED)
        best = (-1, left, "")
        for response_text in self.squeezed:
            at = response_text.find(core)
            for _ in range(_MOST_PLACES):
                if at == -1:
                    break
                words = _same(before, response_text[max(0, at - REACH) : at].split()[::-1])
                if all(word[0].isdigit() or not word[0].isalnum() for word in words):
                    words = []  # a number before the form is the same by chance
                following = _same(after, response_text[at + len(core) : at + len(core) + REACH].split())
                own = own_letters(word[0] for word in (*words, *following)) + inner + OWN_LETTERS * is_next
                rest = right[following[-1].end() if following else 0 :][:80].lstrip(" \"'.)]}`")
                best = max(best, (own, left[: words[-1].start() if words else len(left)], rest), key=lambda run: run[0])
                at = response_text.find(core, at + 1)
        return best


def _same(words: list[re.Match[str]], shown: list[str]) -> list[re.Match[str]]:
    """Return the first words, as long as they are the same as those shown."""
    pairs = enumerate(zip(words, shown, strict=False))
    return words[
        : next((at for at, (word, other) in pairs if word[0].casefold() != other), min(len(words), len(shown)))
    ]


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
    return bool(squeezed(reply).strip()) and ShownTexts(responses).hold(reply)
