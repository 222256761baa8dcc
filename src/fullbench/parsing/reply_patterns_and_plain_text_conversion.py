"""Patterns for numbers, references to responses, ties and labels, and conversion of decorated text to plain text.

Every pattern here is bounded, so that a reply of a megabyte is read in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast


class _LatePattern:
    """Regular expression that is compiled when it is first used: most replies need few of them."""

    def __init__(self, text: str, flags: int) -> None:
        self._source = text, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._source)
        methods = ("match", "search", "fullmatch", "finditer", "findall", "split", "sub")
        self.__dict__.update({method: getattr(compiled, method) for method in methods})
        return getattr(compiled, name)


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled when it is first used."""
    return cast("re.Pattern[str]", _LatePattern(text, flags))


_WIDE = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {
    "【": "[", "】": "]", "〔": "[", "〕": "]", "\u3000": " ", "\u00a0": " ", "。": ". ", "、": ", ",
    "“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "「": '"', "」": '"', "『": '"', "』": '"',
    "«": '"', "»": '"', "‹": "'", "›": "'", "《": '"', "》": '"', "〈": "'", "〉": "'", "‚": "'", "‟": '"',
    "≻": ">", "≫": ">>", "⋙": ">>>", "≪": "<<", "→": ">", "≈": "=",
    "–": "-", "—": "-", "−": "-", "～": "~", "\u200b": "", "\ufeff": "", "\ufe0f": "",
}  # fmt: skip
_WIDE_SIGN = re.compile("[" + "".join(_WIDE) + "]")
_USER_TOKEN = late_pattern(r"<\|(?:user|human)\|>", re.IGNORECASE)
_END_TOKENS = late_pattern(
    r"</s>|<\|[\w ]{1,30}\|>|<(?:start|end)_of_turn>|<eos>|</?(?:b|strong|em|i|p|br|u|span)[ /]{0,2}>"
)
_BOXED = late_pattern(r"\\boxed\s?\{(?:\\text\s?\{)?([^{}\n]{1,60})\}{1,2}")
_TAGGED = late_pattern(
    r"<(answer|score|rating|verdict|judge?ment|choice|ranking|winner)>([^<>]{1,80})</\1>", re.IGNORECASE
)
_POINTED = late_pattern(r"\[\[\s?<([^<>\[\]]{1,40})>\s?\]\]")
_STARS = late_pattern(r"(?P<digit>(?<=\d)\s?)?(?P<full>[★⭐🌟]{1,10})(?P<empty>☆{0,10})")


def plain(text: str) -> str:
    """Return text without decoration: full-width forms, emphasis, end tokens, escaped brackets, stars for numbers.

    `\\boxed{..}`, `<answer>..</answer>` and `[[<..>]]` become the double brackets that are requested.

    >>> plain("**评分**：【【４】】"), plain(r"\\[\\[4\\]\\]"), plain("★★★★☆")
    ('评分:[[4]]', '[[4]]', '4/5')
    """
    if not text.isascii():
        text = _WIDE_SIGN.sub(lambda match: _WIDE[match[0]], text)
        if "★" in text or "⭐" in text or "🌟" in text:
            text = _STARS.sub(_star_count, text)
    if "\\" in text:
        text = _BOXED.sub(r"[[\1]]", text.replace("\\[", "[").replace("\\]", "]"))
    if "<" in text:
        text = _USER_TOKEN.sub("\nuser\n", text)
        text = _POINTED.sub(r"[[\1]]", _TAGGED.sub(r"[[\2]]", _END_TOKENS.sub("", text)))
    return text.replace("*", "").replace("`", "").replace("\r", "").replace("__", "")


def _star_count(match: re.Match[str]) -> str:
    if match["digit"] is not None:
        return " stars"
    full, empty = len(match["full"]), len(match["empty"])
    return f"{full}/{full + empty}" if empty else f"{full}"


_ENGLISH = {
    w: i for i, w in enumerate(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"])
}
_CHINESE = {w: i for i, w in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_WORDS = "|".join(_ENGLISH)
_HAN_NUM = r"[零〇一二两三四五六七八九十百]{1,5}(?!个|些|下|定|般|样|种|致|方)"
NUM = rf"(?:[-+]?\d+(?:\.\d+)?(?:e-?\d+)?|(?:{_WORDS})(?![a-z])|{_HAN_NUM})"


def number(text: str) -> float:
    """Return the number that a match of `NUM` means.

    >>> number("4.5"), number("Four"), number("七"), number("八十五"), number("一百")
    (4.5, 4.0, 7.0, 85.0, 100.0)
    """
    word = text.casefold()
    if word in _ENGLISH:
        return float(_ENGLISH[word])
    if word[-1].isdigit():
        return float(word)
    total, digit = 0, -1
    for sign in word:
        if sign in "十百":
            total, digit = total + max(digit, 1) * (10 if sign == "十" else 100), -1
        else:
            digit = _CHINESE[sign]
    return float(total + max(digit, 0))


NOUN = (
    r"(?:response|assistant|answer|model|image|picture|photo|option|candidate|output|video|caption|reply|text|system|"
    r"contestant|回答|回复|答案|助手|助理|图片|图像|图|选项|模型|候选|响应|视频)"
)
_FIRSTS = ["first", "second", "third", "fourth", "fifth", "sixth"]
_CHINESE_FIRSTS = "一二三四五六"
_REF = (
    rf"(?:(?i:(?:the\s)?{NOUN}s?\s?[-#]?\s?)[\"'(]?(?P<%sletter>[A-Z]|\d{{1,2}})(?![A-Za-z0-9])(?:[\")]|'(?!s))?"
    rf"|(?i:(?:the\s)?(?P<%sfirst>{'|'.join(_FIRSTS)})\s(?:one\b|{NOUN}))"
    rf"|第(?P<%shan>[{_CHINESE_FIRSTS}])(?:个|张|幅|条|段|份)?{NOUN}?"
    rf"|(?<![A-Za-z'])(?P<%sbare>[A-Z])(?![A-Za-z0-9']))"
)


def ref(prefix: str = "") -> str:
    """Return the pattern of a reference to a response, with prefixed group names; letters must be capital."""
    return _REF.replace("%s", prefix)


def position(match: re.Match[str], prefix: str = "") -> int:
    """Return the place, from 0, of the response that a match of `ref(prefix)` names."""
    groups = match.groupdict()
    if name := groups[f"{prefix}letter"] or groups[f"{prefix}bare"]:
        return int(name) - 1 if name.isdigit() else ord(name.upper()) - ord("A")
    if name := groups[f"{prefix}first"]:
        return _FIRSTS.index(name.casefold())
    return _CHINESE_FIRSTS.index(groups[f"{prefix}han"])


TIE = (
    r"(?:(?:it(?:'s| is) )?an? (?:clear |complete |draw or |close |virtual )?(?:tie|draw)(?![a-z])"
    r"|tied?(?![a-z])|draw(?![a-z])"
    r"|no (?:clear |overall )?winner|平局|平手|打平|不相上下|不分上下|不分伯仲|难分高下|不分高下)"
)
EVEN = (
    r"(?:both (?:(?:of )?\w{1,10} ){0,2}(?:are|being|were) (?:equally |similarly |very |both |about )?"
    r"(?:good|bad|poor|acceptable|equal|tied|the same|excellent)(?![a-z])"
    r"|(?:about |roughly )?equally (?:good|bad|strong|matched|well|poor)"
    r"|一样好|同样好|一样差|同样差|都很?[好差])"
)

_KEYS = """
rating score grade judgement judgment verdict ruling decision answer choice ranking rank order result conclusion winner
preference pick 评分 得分 分数 打分 总分 评级 等级 评价 结论 判断 判定 裁决 裁定 答案 选择 排名 排序 结果 胜者 胜出者
"""
KEY_WORDS = _KEYS.split()
KEY = "(?:" + "|".join(KEY_WORDS) + ")"
_ASPECTS = """
accuracy correctness style fluency relevance clarity grammar helpfulness coherence completeness detail details depth
consistency creativity tone brevity conciseness length factuality faithfulness safety format formatting readability
usefulness quality alignment aesthetics composition realism content structure logic reasoning honesty harmlessness
truthfulness informativeness engagement spelling 准确性 准确度 流畅性 流畅度 相关性 清晰度 完整性 风格 语言 逻辑性 逻辑
创意 创造性 丰富度 有用性 一致性 安全性 可读性 细节 事实性
"""
ASPECTS = frozenset(_ASPECTS.split())
"""Usual names of criteria: a verdict labelled with one is not the overall verdict."""
TIED_OPTION = late_pattern(rf"[\W\d_]*{TIE}\s?[,:，：]", re.IGNORECASE)
"""Start of a line that offers or states a tie ("3. Tie, the same quality: "): such a line names no criterion."""
STRONG = late_pattern(
    r"(?:^|(?<=[ -]))(?:final|overall|total|my|the|your|our|a|an|its|this|in|so|thus|therefore|hence|and|single"
    r"|official|definitive)$|(?:最终|最后|总体|综合|整体|我的|我|总|本次|为|是|给出|得出|因此|所以|综上)$",
    re.IGNORECASE,
)
NEGATION = late_pattern(
    r"\b(?:not|never|neither|nor|no|hardly|cannot|whether|if|unless|without|had|instead of|rather than)\b|n't\b"
    r"|不|没|并非|未必|难说|是否|如果|假如|若|要是",
    re.IGNORECASE,
)
CUE = late_pattern(
    r"\b(?:overall|therefore|thus|hence|in conclusion|to conclude|in summary|to sum up|final|finally|verdict|conclude"
    r"|all in all|in the end|ultimately|judge?ment|consequently|all things considered|on balance)\b"
    r"|综上|因此|所以|总的来说|总体|总之|最终|综合来看|整体|结论|故",
    re.IGNORECASE,
)


def matches(
    pattern: re.Pattern[str], text: str, words: Sequence[str], *, before: int, after: int
) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern near these lower-case words, in order.

    To find plain words is a hundred times as fast as to try a long pattern at every place.

    >>> best = re.compile(r"\\w+ is best")
    >>> [match[0] for match in matches(best, "A is best. B is not.", ["best"], before=9, after=4)]
    ['A is best']
    """
    lower = text.lower()
    if len(lower) != len(text):  # some capitals become two letters, which would move all places behind them
        lower = text
    places: set[int] = set()
    for word in words:
        at = lower.find(word)
        while at != -1:
            places.add(at)
            at = lower.find(word, at + len(word))
    done = 0
    for place in sorted(places):
        start = max(done, place - before)
        while match := pattern.search(text, start, max(start, min(len(text), place + after))):
            yield match
            done = start = max(match.end(), start + 1)


_STOP = re.compile(r"[.!?;](?=[\s,A-Z\u3400-\u9fff]|$)")


def clause(text: str, start: int, reach: int = 90) -> str:
    """Return the words before `start` in the same sentence."""
    before = text[max(0, start - reach) : start]
    return _STOP.split(before[before.rfind("\n") + 1 :])[-1]


_REFUSAL = late_pattern(
    r"\b(?:i|we)(?: am|'m| was| are|'re)? (?:really |very |so |deeply |truly )?sorry\b|\bsorry,|\bi apologi[sz]e"
    r"|\bmy apologies|\b(?:i|we)(?: simply| really| just)? (?:can't|cannot|can not|couldn't|could not|won't|will not"
    r"|must decline|must refuse|decline|refuse|am unable|am not able|do not have the ability|don't have the ability"
    r"|am not capable|am not allowed|am not permitted|don't feel comfortable|do not feel comfortable)"
    r"(?! (?:\w+ )?(?:determine|decide|tell|say|choose|conclude|overlook|stress|agree|help but)\b)"
    r"|\bi'm (?:unable|not able|not capable|not allowed)\b|\bas an? (?:ai|artificial|large|language)\b"
    r"|\bunable to (?:assist|help|judge|view|see|evaluate|comply|process|access|fulfil)|\bblock_?reason\b"
    r"|\bcontent[ _](?:polic|filter|management)|\bsafety (?:filter|polic|guideline|system)|\bprohibited_content\b"
    r"|\bresponse (?:was|has been|is) (?:blocked|filtered)|\bagainst (?:my|our) (?:policy|guidelines)"
    r"|\bno images? (?:was|were|is|are|has been|have been|provided|attached|visible)"
    r"|\brequest (?:was|has been) (?:blocked|rejected|refused|flagged)"
    r"|抱歉|对不起|很遗憾|我(?:无法|不能|没办法|不便|拒绝|没有能力)|作为(?:一个|一名)?(?:AI|人工智能|语言模型|大模型)"
    r"|无法(?:协助|提供|回答|处理|查看|看到|满足|完成)|内容(?:过滤|审核|安全|违规)|违反.{0,12}(?:政策|规定|准则)"
    r"|敏感(?:内容|信息)|没有(?:看到|收到|提供).{0,6}图",
    re.IGNORECASE,
)
_SPEAKS_OF_ANOTHER = late_pattern(rf"[\"]|\b{NOUN}s?\b", re.IGNORECASE)


def refuses(text: str) -> bool:
    """Return True if a reply without a verdict opens by declining in its own name."""
    opening = text.lstrip()[:400]
    match = _REFUSAL.search(opening)
    return match is not None and not _SPEAKS_OF_ANOTHER.search(opening[: match.start()])
