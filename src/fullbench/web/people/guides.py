"""What people are told where a study has no guidelines of its own: one text a kind, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from fullbench.web.words import Language

VERSION = "shipped 1"
"""What a vote notes that was given under one of these texts; a changed text gets another number."""

_ENGLISH: Mapping[str, str] = {
    "pair": (
        "# Choose the better answer\n"
        "\n"
        "- Look at the picture first, then read both answers to the end.\n"
        "- Right beats wrong; among right ones the more complete and clearer wins. Length alone is no "
        "merit.\n"
        "- Say that they are equally good only where you would not mind which one you got."
    ),
    "score": (
        "# Score one answer\n"
        "\n"
        "- The lowest score: wrong, or about something else. The middle: partly right, or right with "
        "a clear gap. The highest: right, complete and clear.\n"
        "- Judge what stands there, not what was meant.\n"
        "- Use the whole scale; two answers may have the same score."
    ),
    "rank": (
        "# Put the answers in order, best first\n"
        "\n"
        "- Compare each with its neighbours before you send.\n"
        "- Right before wrong, then complete before incomplete, then clear before unclear."
    ),
    "agree": (
        "# Judge the judge\n"
        "\n"
        "- First decide for yourself what the ruling should be; then say whether you agree.\n"
        "- Grade the reasons, not the ruling: 1 is no reason or a false one, 5 is sound and complete.\n"
        "- Something that the picture does not show, but the reasons tell of, is seen where nothing is."
    ),
    "rate": (
        "# Rate each picture\n"
        "\n"
        "- Read the text that the pictures were made for; rate how well each shows all of it.\n"
        "- Then look at faults: hands, faces, letters, blur. Equal pictures get equal marks.\n"
        "- You can go back and change what you gave."
    ),
    "verify": (
        "# Check the reference\n"
        "\n"
        "- Does the reference do what the instruction asks, and is it true of the picture?\n"
        "- If not, say where the fault is: the instruction, the caption, the reference, or the picture."
    ),
    "write": (
        "# Write\n"
        "\n"
        "- The instruction must need the picture: nobody could answer it without looking.\n"
        "- The caption tells all that somebody needs who cannot see the picture; one for each picture.\n"
        "- No names of real people, nothing private."
    ),
    "rewrite": (
        "# Does it ask the same?\n"
        "\n"
        "- The same means: every right answer to the one is right for the other.\n"
        "- Small slips you may mend in the text; say no where the meaning is another."
    ),
}
_CHINESE: Mapping[str, str] = {
    "pair": (
        "# 选出更好的回答\n"
        "\n"
        "- 先看图，再把两个回答读完。\n"
        "- 正确胜于错误；都正确时，更完整、更清楚的胜出。长度本身不是优点。\n"
        "- 只有当你觉得得到哪一个都一样时，才选一样好。"
    ),
    "score": (
        "# 给一个回答打分\n"
        "\n"
        "- 最低分：错误或答非所问。中间分：部分正确，或正确但有明显缺漏。最高分：正确、完整、清楚。\n"
        "- 只看写出来的内容，不猜作者的意思。\n"
        "- 请用满整个分数范围；两个回答可以同分。"
    ),
    "rank": ("# 从好到差排序\n\n- 发送前，把每个回答与相邻的比较一遍。\n- 先看对错，再看完整，最后看清楚。"),
    "agree": (
        "# 评判裁决\n"
        "\n"
        "- 先自己判断该怎么裁决，再说是否同意。\n"
        "- 给理由打分，不给裁决打分：1 为没有理由或理由错误，5 为可靠而完整。\n"
        "- 理由提到图中没有的东西，就是幻觉。"
    ),
    "rate": (
        "# 给每张图打分\n"
        "\n"
        "- 先读生成图片的文字；看每张图把它表现得多完整。\n"
        "- 再看瑕疵：手、脸、文字、模糊。一样好的图给一样的分。\n"
        "- 可以返回修改。"
    ),
    "verify": (
        "# 检查参考答案\n"
        "\n"
        "- 参考答案是否做到了指令的要求，是否符合图片？\n"
        "- 如果没有，指出问题在哪里：指令、图片说明、参考答案还是图片。"
    ),
    "write": (
        "# 写\n"
        "\n"
        "- 指令必须用到图片：不看图就答不出来。\n"
        "- 图片说明要让看不到图的人也能回答；每张图一段。\n"
        "- 不写真人姓名和隐私。"
    ),
    "rewrite": (
        "# 问的是同一件事吗？\n\n- 相同是指：一个的所有正确答案，对另一个也正确。\n- 小错可以直接改；意思不同就选否。"
    ),
}


def shipped(kind: str, language: Language) -> str:
    """The guideline of a kind; empty for one of a plugin, which has none."""
    return (_CHINESE if language == "zh" else _ENGLISH).get(kind, "")
