"""`fullbench show`: cases of an item, of a key, with disagreement or unusable verdicts; with prompts and replies."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.cells import cell_len

from fullbench.cli.console import command_text, print_line
from fullbench.cli.display_names_in_command_output import CURRENT
from fullbench.cli.shared_options_and_run_output import (
    DEFAULT_LEDGER,
    JsonOption,
    LedgerOptions,
    argument,
    option,
    options,
)
from fullbench.errors import InputError
from fullbench.secret_masking_and_text_escapes import neutralise_text

if TYPE_CHECKING:
    from fullbench.core.case import Case
    from fullbench.core.item import Part, Turn
    from fullbench.core.media import Media
    from fullbench.core.verdict import Verdict
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.disputed_and_unusable_ledger_cases import ShownResponses


@options("ledger study judge disagree unusable as_json")
def show(
    store: LedgerOptions,
    what: Annotated[
        str | None, argument("An item's id, or the key of a case or verdict, or its beginning.", metavar="ITEM|CASE")
    ] = None,
    judge: Annotated[
        str | None,
        option("Only this judge, by name or unique prefix, or by its spec if it uses your own prompt template."),
    ] = None,
    disagree: Annotated[
        int | None, option("The N cases on which judges differ most; with --judge, it and people.", min=1)
    ] = None,
    unusable: Annotated[
        int | None, option("N verdicts that are unusable, with the prompt and the reply.", min=1)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show cases: items, responses, prompts, replies and verdicts.

    Examples:

        fullbench show q17

        fullbench show --disagree 5

        fullbench show --judge gpt-4o --unusable 5
    """
    if (what is not None) + (disagree is not None) + (unusable is not None) != 1:
        raise InputError("Name what to show: an item's id, a case's key, --disagree N or --unusable N (one of them).")
    with store.read() as ledger:
        study = None if store.study is None else ledger.one_study(store.study)
        judge_name, spec = _judge_or_spec(ledger, judge)
        if disagree is not None:
            facts, lines = _disputed_cases(ledger, disagree, study, judge_name)
        elif unusable is not None:
            facts, lines = _unusable_verdicts(ledger, unusable, study, judge_name, spec)
        else:
            facts, lines = _item_or_case(ledger, what or "", judge_name, spec)
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False, indent=2))
        return
    for line in lines:
        # Lines with this indent quote prompts, replies and responses, which are shown as they are.
        if line.startswith("    "):
            typer.echo(neutralise_text(line))
        else:
            print_line(neutralise_text(line))


def _judge_or_spec(ledger: Ledger, judge: str | None) -> tuple[str | None, str | None]:
    """Return the full name of a judge of this ledger, and the spec if one was given."""
    from fullbench.studies.ledger_display_names_and_name_lookup import find_judges

    if judge is None:
        return None, None
    try:
        (name,) = find_judges(ledger, [judge])
    except InputError:
        if ":" not in judge:
            raise
        return None, judge
    is_spec = ":" in judge and judge != CURRENT.text(name) and not name.startswith(judge)
    return name, judge if is_spec else None


def _item_or_case(ledger: Ledger, what: str, judge: str | None, spec: str | None) -> tuple[Any, Iterable[str]]:
    """Return the case of a key, or all cases of an item: in full if there is one, else as a list."""
    case_keys = ledger.cases_of_item(what)
    if not case_keys:
        case_key, verdict_sum = _find_case(ledger, what)
        case_facts = _load_case_facts(ledger, case_key, judge, spec, verdict_sum)
        return case_facts, _case_lines(case_facts)
    cases = [_load_case_facts(ledger, case_key, judge, spec) for case_key in case_keys]
    if len(cases) == 1:
        return cases, _case_lines(cases[0])
    return cases, _item_lines(ledger, what, cases)


def _load_case_facts(
    ledger: Ledger,
    case_key: str,
    judge: str | None,
    spec: str | None,
    verdict_sum: str = "",
    wanted: Callable[[Verdict], bool] = lambda _: True,
) -> dict[str, Any]:
    """Return a case with its verdicts: those of one judge, the one with this checksum, or those that are wanted."""
    verdict_pairs = zip(ledger.sums(case_key), ledger.verdicts(cases=[case_key], revisions=True), strict=True)
    verdicts = {
        name: verdict
        for name, verdict in verdict_pairs
        if verdict_sum in {"", name} and judge in {None, verdict.judge} and wanted(verdict)
    }
    return _build_case_facts(ledger, case_key, verdicts, spec)


def _unusable_verdicts(
    ledger: Ledger, count: int, study: str | None, judge: str | None, spec: str | None
) -> tuple[Any, Iterable[str]]:
    verdicts = ledger.verdicts(judge, texts=False, study=study)
    faulty_verdicts = [verdict for verdict in verdicts if verdict.fault is not None]
    if not faulty_verdicts:
        raise InputError(f"{ledger.place} has no unusable verdict{f' of {judge}' if judge else ''}.")
    first_verdicts = faulty_verdicts[:count]
    cases = [
        _load_case_facts(ledger, verdict.case, verdict.judge, spec, wanted=partial(_is_same_vote, verdict))
        for verdict in first_verdicts
    ]
    kinds = Counter(str(verdict.fault) for verdict in faulty_verdicts)
    kinds_text = ", ".join(f"{number:,} {kind}" for kind, number in kinds.most_common())
    head = f"{len(first_verdicts):,} of {len(faulty_verdicts):,} unusable verdicts ({kinds_text})"

    def lines() -> Iterator[str]:
        yield f"{head}:"
        for case in cases:
            yield "─" * 60
            yield from _case_lines(case)

    return cases, lines()


def _is_same_vote(verdict: Verdict, other_verdict: Verdict) -> bool:
    return (verdict.trial, verdict.rater, verdict.revision) == (
        other_verdict.trial,
        other_verdict.rater,
        other_verdict.revision,
    )


def _disputed_cases(ledger: Ledger, count: int, study: str | None, judge: str | None) -> tuple[Any, Iterable[str]]:
    from fullbench.studies.disputed_and_unusable_ledger_cases import rank_disputed_cases

    disputed_cases = rank_disputed_cases(ledger.verdicts(texts=False, study=study), judge)
    if not disputed_cases:
        who = "No two judges" if judge is None else f"{judge} and no other judge"
        raise InputError(f"{ledger.place}: {who} marked the same responses differently, so there is nothing to show.")
    first_cases = disputed_cases[:count]
    stored_cases = [next(iter(ledger.cases(disputed.cases)), None) for disputed in first_cases]
    keys = [d.cases[0] if case is None else case.key for d, case in zip(first_cases, stored_cases, strict=True)]
    case_facts = [_load_case_facts(ledger, key, None, None) for key in keys]
    facts = [
        {**asdict(disputed), "item": case["item"] or disputed.item, "responses": case["responses"]}
        for disputed, case in zip(first_cases, case_facts, strict=True)
    ]

    def lines() -> Iterator[str]:
        yield (
            f"{len(first_cases):,} of {len(disputed_cases):,} cases with disagreement, the largest first. Marks are "
            "means over orders and trials."
        )
        for disputed, case in zip(first_cases, case_facts, strict=True):
            yield ""
            share = f"differ by {disputed.disagreement:.0%} of the scale"
            yield f"item {disputed.item} · {disputed.ballot} · {disputed.criterion} · {share}"
            yield from _short_content_lines(case, disputed.responses)
            yield from _mark_lines(disputed.responses, disputed.marks)
            yield f"  {_show_command(ledger, case['case'])}"

    return facts, lines()


def _mark_lines(responses: ShownResponses, marks: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield a small table: a line for each judge, a column for each response, numbered if names are too wide."""
    heads = [CURRENT.text(_response_name(*response)) for response in responses]
    names = ["marks by", *map(CURRENT.text, marks)]
    width = max(map(cell_len, names))
    if width + sum(cell_len(head) + 2 for head in heads) > shutil.get_terminal_size((110, 40)).columns - 2:
        heads = [f"[{number}]" for number in range(1, len(heads) + 1)]
    cells = [heads, *([f"{mark:.3g}" for mark in values] for values in marks.values())]
    widths = [max(cell_len(row[column]) for row in cells) for column in range(len(heads))]
    for name, row in zip(names, cells, strict=True):
        padded = "  ".join(" " * (size - cell_len(cell)) + cell for cell, size in zip(row, widths, strict=True))
        yield f"  {name}{' ' * (width - cell_len(name))}  {padded}"


def _response_name(contestant: str, sample: int) -> str:
    return f"{contestant}, sample {sample}" if sample else contestant


def _item_lines(ledger: Ledger, item: str, cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield an item and its responses once, then the verdicts on each of its cases."""
    yield f"item {item}: {len(cases):,} cases"
    full_case = next((case for case in cases if case["item"] is not None), None)
    if full_case is not None:
        yield from _turn_lines(full_case["item"]["turns"])
    responses = {(r["contestant"], r["sample"]): r for case in cases for r in case["responses"]}
    for response in responses.values():
        yield from _response_lines(response)
    verdicts_by_subject: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for case in cases:
        for verdict in case["verdicts"]:
            rater = f", rater {verdict['rater']}" if verdict["rater"] else ""
            trial = f", trial {verdict['trial']}" if verdict["trial"] else ""
            line = f"  {case['case'][:12]}  {verdict['judge']}{rater}{trial}: {_outcome_text(verdict)}"
            shown = verdict["responses"]
            verdicts_by_subject[case["ballot"], case["criterion"], *shown].append(line)
    for (form, criterion, *shown), lines in sorted(verdicts_by_subject.items()):
        yield ""
        yield f"{' against '.join(shown)} · {form} · {criterion}"
        yield from lines
    yield ""
    key = next((case["case"] for case in cases if case["item"] is not None), cases[0]["case"])
    yield f"With prompts and replies: {_show_command(ledger, key)}"


def _show_command(ledger: Ledger, key: str) -> str:
    """Return the command that shows a case in full."""
    place = str(ledger.place)
    return command_text("show", key[:12], *([] if place == DEFAULT_LEDGER else ["--ledger", place]))


SHORT = 240
"""Characters of a question or response that a list shows."""


def _short_content_lines(case: Mapping[str, Any], responses: ShownResponses) -> Iterator[str]:
    """Yield the question and the responses, numbered as in the table of marks."""
    numbers = {tuple(response): number for number, response in enumerate(responses, 1)}
    if case["item"] is not None:
        yield f"    question: {_shorten(' '.join(part for turn in case['item']['turns'] for part in turn['parts']))}"
    for response in sorted(case["responses"], key=lambda response: (response["contestant"], response["sample"])):
        number = numbers.get((response["contestant"], response["sample"]))
        head = "" if number is None else f"[{number}] "
        yield f"    {head}{CURRENT.text(response['contestant'])}: {_shorten(' '.join(response['parts']))}"


def _shorten(text: str) -> str:
    """Return the beginning of a text, with its length if something is left out."""
    words = " ".join(text.split())
    return words if len(words) <= SHORT else f"{words[:SHORT]}… ({len(words):,} characters)"


def _find_case(ledger: Ledger, key: str) -> tuple[str, str]:
    """Return the case whose key has this prefix, and the checksum if it is that of a verdict."""
    from fullbench.files.name_suggestions_and_lookalikes import closest_name

    matches = ledger.beginning_with(key)
    if not matches:
        nearest = closest_name(key, [item.id for item in ledger.items()])
        hint = (
            f"did you mean item {nearest!r}?" if nearest else "--disagree N and --unusable N find cases without a key"
        )
        raise InputError(f"{ledger.place}: no item, case or verdict begins with {key!r}; {hint}")
    if len(matches) > 1:
        examples_text = ", ".join(verdict_sum or case for case, verdict_sum in matches[:3])
        raise InputError(
            f"{ledger.place}: {len(matches):,} cases or verdicts begin with {key!r} ({examples_text}...); add to it"
        )
    return matches[0]


def _build_case_facts(ledger: Ledger, case_key: str, verdicts: dict[str, Verdict], spec: str | None) -> dict[str, Any]:
    from fullbench.core.dialogue_turn_answers_and_criteria import turn_starts

    case = ledger.case(case_key)
    item = None if case is None else {
        "id": case.item.id,
        "turns": [{"role": turn.role, "parts": _part_texts(turn.parts)} for turn in case.item.turns],
        "reference": case.item.reference,
        "tags": dict(case.item.tags),
    }  # fmt: skip
    responses = [] if case is None else [
        {
            "contestant": response.contestant, "sample": response.sample, "stop": response.stop,
            "parts": _part_texts(response.parts), "turns": turn_starts(case.item, response),
        }
        for response in case.responses
    ]  # fmt: skip
    first = next(iter(verdicts.values()), None)
    return {
        "case": case_key,
        "ballot": first.ballot if case is None and first else None if case is None else case.ballot.spec,
        "criterion": first.criterion if case is None and first else None if case is None else case.criterion,
        "item": item,
        "responses": responses,
        "verdicts": [
            {"verdict": name, **_verdict_facts(verdict, _render_prompts(ledger, case, verdict, spec))}
            for name, verdict in verdicts.items()
        ],
    }


def _verdict_facts(verdict: Verdict, rendered_prompts: dict[str, list[Any]]) -> dict[str, Any]:
    from fullbench.core.ballot import ballot
    from fullbench.parsing import is_signed

    form, n = ballot(verdict.ballot), len(verdict.contestants)
    calls = [
        {
            "id": call.id, "prompt": call.prompt, "sent": rendered_prompts.get(call.prompt) or call.sent,
            "text": call.text, "reasoning": call.reasoning, "stop": call.stop, "served": call.served,
            "fingerprint": call.fingerprint, "check_code": call.nonce,
            "has_check_code": is_signed(form, call.text, n, call.nonce) if call.nonce else None,
            "usage": _usage_facts(call.usage), "at": call.at,
        }
        for call in verdict.exchanges
    ]  # fmt: skip
    return {
        "judge": verdict.judge, "responses": [_response_name(*shown) for shown in verdict.shown_responses],
        "rater": verdict.rater, "trial": verdict.trial, "revision": verdict.revision,
        "marks": verdict.marks, "fault": verdict.fault, "confidence": verdict.confidence, "text": verdict.text,
        "cut_off": verdict.reading.is_cut_off, "reader": verdict.reading.number, "earlier": list(verdict.earlier),
        "prompt": verdict.prompt, "sent": rendered_prompts.get(verdict.prompt), "usage": _usage_facts(verdict.usage),
        "at": verdict.at, "exchanges": calls,
    }  # fmt: skip


def _usage_facts(usage: Any) -> dict[str, Any]:
    return {name: getattr(usage, name) for name in type(usage).__dataclass_fields__}


def _render_prompts(ledger: Ledger, case: Case | None, verdict: Verdict, spec: str | None) -> dict[str, list[Any]]:
    """Return the prompts of a judge for this case by digest; the ledger stores no prompt texts.

    They are rendered from the settings in the ledger. A template of the user is not in the ledger, so it needs a spec.
    """
    from fullbench.studies.exchange.sent_prompts_rebuilt_from_ledger import sent_prompts

    if case is None:
        return {}
    settings = ledger.settings_behind("judge", verdict.judge)
    turns_by_digest = {} if settings is None else sent_prompts(settings, case, verdict)
    if spec is not None:
        turns_by_digest = {**_prompts_from_spec(case, verdict, spec), **turns_by_digest}
    return {
        digest: [{"role": turn.role, "parts": _part_texts(turn.parts)} for turn in turns]
        for digest, turns in turns_by_digest.items()
    }


def _prompts_from_spec(case: Case, verdict: Verdict, spec: str) -> dict[str, tuple[Turn, ...]]:
    from fullbench.core.judge import answers_first, prompts_of
    from fullbench.studies import judge_contestant_and_benchmark_specs

    nonce = next((call.nonce for call in verdict.exchanges if call.nonce), "")
    judge = judge_contestant_and_benchmark_specs.judge_from_spec(spec)
    judged_case = case.at(verdict.trial).with_nonce(nonce)
    prompts = prompts_of(judge, judged_case) or ()
    if answers_first(judge) and verdict.exchanges:
        prompts += prompts_of(judge, judged_case.with_own_answer(verdict.exchanges[0])) or ()
    return {prompt.digest: prompt.turns for prompt in prompts}


def _part_texts(parts: tuple[Part, ...]) -> list[str]:
    return [part if isinstance(part, str) else f"<{_media_name(part)} {part.digest}>" for part in parts]


def _media_name(part: Media) -> str:
    from fullbench.core.picture import Frame, Sound

    return f"{part.noun}, {part.place} of {part.origin[:12]}," if isinstance(part, Frame | Sound) else part.noun


def _case_lines(case_facts: dict[str, Any]) -> Iterator[str]:
    yield f"case {case_facts['case']}: ballot {case_facts['ballot']}, criterion {case_facts['criterion']}"
    if case_facts["item"] is None:
        yield "what was judged is not in the ledger: only the verdicts are known"
    else:
        yield f"item {case_facts['item']['id']}"
        yield from _turn_lines(case_facts["item"]["turns"])
        if case_facts["item"]["reference"] is not None:
            yield f"  reference: {case_facts['item']['reference']}"
    for response in case_facts["responses"]:
        yield from _response_lines(response)
    for verdict in case_facts["verdicts"]:
        yield ""
        yield from _verdict_lines(verdict)


def _response_lines(response: Mapping[str, Any]) -> Iterator[str]:
    stop_text = f", ended by {response['stop']}" if response["stop"] else ""
    yield f"response of {_response_name(response['contestant'], response['sample'])}{stop_text}"
    for index, part in enumerate(response["parts"]) if response["turns"] else ():
        if index in response["turns"]:
            yield f"    turn {response['turns'][index]}:"
        yield from _indent_lines(part)
    if not response["turns"]:
        yield from _indent_lines(" ".join(response["parts"]))


def _outcome_text(verdict: Mapping[str, Any]) -> str:
    """Return the marks of a verdict, or why it is unusable."""
    return verdict["fault"] or ", ".join(f"{mark:g}" for mark in verdict["marks"])


def _verdict_lines(verdict: dict[str, Any]) -> Iterator[str]:
    rater = f", rater {verdict['rater']}" if verdict["rater"] else ""
    revision = f", revision {verdict['revision']}" if verdict["revision"] else ""
    verdict_text = _outcome_text(verdict)
    if verdict["confidence"] is not None:
        verdict_text += f", sure by {verdict['confidence']:.2f}"
    if verdict["fault"] == "unreadable" and verdict["cut_off"]:
        verdict_text += " (cut off by the limit on its length: raise the judge's max_tokens)"
    yield (
        f"verdict {verdict['verdict']} of {verdict['judge']}{rater}, trial {verdict['trial']}{revision}: {verdict_text}"
    )
    yield f"  {_cost_text(verdict['usage'], verdict['at'])}"
    if not verdict["exchanges"]:
        yield from _prompt_lines(verdict["sent"], verdict["prompt"])
        if verdict["text"]:
            yield "  what came back:"
            yield from _indent_lines(verdict["text"])
    elif verdict["text"] and verdict["text"] != verdict["exchanges"][-1]["text"]:
        yield "  reason:"
        yield from _indent_lines(verdict["text"])
    for number, call in enumerate(verdict["exchanges"], 1):
        yield f"  exchange {number}: {_cost_text(call['usage'], call['at'])}"
        yield from _prompt_lines(call["sent"], call["prompt"])
        for name in ("reasoning", "text"):
            if call[name]:
                yield f"  {'what came back' if name == 'text' else 'what it thought'}:"
                yield from _indent_lines(call[name])
        about = {"ended by": call["stop"], "served by": call["served"], "fingerprint": call["fingerprint"]}
        if call["check_code"]:
            about["check code"] = call["check_code"]
            about["in the reply:"] = "yes" if call["has_check_code"] else "no"
        if any(about.values()):
            yield "  " + ", ".join(f"{name} {value}" for name, value in about.items() if value)


def _prompt_lines(sent_prompt: Any, digest: str) -> Iterator[str]:
    if isinstance(sent_prompt, list):
        yield "  what was sent:"
        yield from _turn_lines(sent_prompt)
    elif sent_prompt:
        yield "  what was sent:"
        yield from _indent_lines(sent_prompt)
    elif digest:
        yield f"  what was sent has the digest {digest}; its text is not in the ledger (--judge SPEC renders it again)"


def _turn_lines(turns: list[dict[str, Any]]) -> Iterator[str]:
    for turn in turns:
        yield f"  {turn['role']}:"
        yield from _indent_lines(" ".join(turn["parts"]))


def _indent_lines(text: str) -> Iterator[str]:
    yield from (f"    {line}" for line in text.splitlines() or [""])


def _cost_text(usage: dict[str, Any], at: float) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    dollars = "unknown price" if usage["dollars"] is None else f"{usage['dollars']:.6g} dollars"
    cached_tokens, stored_tokens = usage["cached"], usage["stored"]
    caches = [] if cached_tokens is None else [f"{cached_tokens:,} from the server's cache"]
    caches += [f"{stored_tokens:,} into it"] if stored_tokens else []
    cache = f" ({', '.join(caches)})" if caches else ""
    tokens = f"{usage['tokens_in']:,} tokens in{cache}, {usage['tokens_out']:,} out"
    return f"{when}; {tokens}, {dollars}, {usage['seconds']:.3g} s"
