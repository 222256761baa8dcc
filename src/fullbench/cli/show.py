"""`fullbench show`: one case or verdict with its prompts and replies."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fullbench.cli.options import JsonOption, LedgerOptions, argument, option, options
from fullbench.errors import InputError
from fullbench.secret_masking_and_text_escapes import neutralise_text

if TYPE_CHECKING:
    from fullbench.core.case import Case
    from fullbench.core.item import Part
    from fullbench.core.verdict import Verdict
    from fullbench.ledger.ledger import Ledger


@options("ledger judge as_json")
def show(
    key: Annotated[str, argument("The key of a case or verdict, or its beginning.", metavar="CASE|VERDICT")],
    store: LedgerOptions,
    judge: Annotated[str | None, option("Judge as KIND:NAME?OPTIONS, to show the prompt that it got.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a case: item, responses, prompts, replies and verdicts.

    Example: fullbench show 7e7817c8 --ledger study.ledger
    """
    with store.read() as open_ledger:
        case_key, verdict_sum = _find_case(open_ledger, key)
        verdict_pairs = zip(
            open_ledger.sums(case_key), open_ledger.verdicts(cases=[case_key], revisions=True), strict=True
        )
        verdicts = {name: verdict for name, verdict in verdict_pairs if verdict_sum in {"", name}}
        case_facts = _build_case_facts(case_key, open_ledger.case(case_key), verdicts, judge)
    if as_json:
        typer.echo(json.dumps(case_facts, ensure_ascii=False, indent=2))
        return
    for line in _case_lines(case_facts):
        typer.echo(neutralise_text(line))


def _find_case(ledger: Ledger, key: str) -> tuple[str, str]:
    """Return the case whose key has this prefix, and the checksum if it is that of a verdict."""
    matches = ledger.beginning_with(key)
    if not matches:
        raise InputError(
            f"{ledger.place}: no case or verdict begins with {key!r}; `fullbench ledger export --to verdicts.csv` "
            "lists them all"
        )
    if len(matches) > 1:
        examples_text = ", ".join(verdict_sum or case for case, verdict_sum in matches[:3])
        raise InputError(
            f"{ledger.place}: {len(matches):,} cases or verdicts begin with {key!r} ({examples_text}...); add to it"
        )
    return matches[0]


def _build_case_facts(
    case_key: str, case: Case | None, verdicts: dict[str, Verdict], spec: str | None
) -> dict[str, Any]:
    from fullbench.core.dialogue_turn_answers_and_criteria import turn_starts

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
            {"verdict": name, **_verdict_facts(verdict, _render_prompts(case, verdict, spec))}
            for name, verdict in verdicts.items()
        ],
    }


def _verdict_facts(verdict: Verdict, rendered_prompts: dict[str, list[Any]]) -> dict[str, Any]:
    from fullbench.core.ballot import ballot
    from fullbench.parsing import is_signed

    form, n = ballot(verdict.ballot), len(verdict.contestants)
    calls = [
        {
            "id": call.id, "prompt": call.prompt, "sent": call.sent or rendered_prompts.get(call.prompt),
            "text": call.text, "reasoning": call.reasoning, "stop": call.stop, "served": call.served,
            "fingerprint": call.fingerprint, "check_code": call.nonce,
            "has_check_code": is_signed(form, call.text, n, call.nonce) if call.nonce else None,
            "usage": _usage_facts(call.usage), "at": call.at,
        }
        for call in verdict.exchanges
    ]  # fmt: skip
    return {
        "judge": verdict.judge, "rater": verdict.rater, "trial": verdict.trial, "revision": verdict.revision,
        "marks": verdict.marks, "fault": verdict.fault, "confidence": verdict.confidence, "text": verdict.text,
        "cut_off": verdict.reading.is_cut_off, "reader": verdict.reading.number, "earlier": list(verdict.earlier),
        "prompt": verdict.prompt, "sent": rendered_prompts.get(verdict.prompt), "usage": _usage_facts(verdict.usage),
        "at": verdict.at, "exchanges": calls,
    }  # fmt: skip


def _usage_facts(usage: Any) -> dict[str, Any]:
    return {name: getattr(usage, name) for name in type(usage).__dataclass_fields__}


def _render_prompts(case: Case | None, verdict: Verdict, spec: str | None) -> dict[str, list[Any]]:
    """Return the prompts of a judge for this case by digest; the ledger stores no prompt texts."""
    if case is None or spec is None:
        return {}
    from fullbench.core.judge import answers_first, prompts_of
    from fullbench.studies import judge_and_model_specs

    nonce = next((call.nonce for call in verdict.exchanges if call.nonce), "")
    judge = judge_and_model_specs.judge_from_spec(spec)
    judged_case = case.at(verdict.trial).with_nonce(nonce)
    prompts = prompts_of(judge, judged_case) or ()
    if answers_first(judge) and verdict.exchanges:
        prompts += prompts_of(judge, judged_case.with_own_answer(verdict.exchanges[0])) or ()
    return {
        prompt.digest: [{"role": turn.role, "parts": _part_texts(turn.parts)} for turn in prompt.turns]
        for prompt in prompts
    }


def _part_texts(parts: tuple[Part, ...]) -> list[str]:
    return [part if isinstance(part, str) else f"<picture {part.digest}>" for part in parts]


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
        number = f", sample {response['sample']}" if response["sample"] else ""
        stop_text = f", ended by {response['stop']}" if response["stop"] else ""
        yield f"response of {response['contestant']}{number}{stop_text}"
        for index, part in enumerate(response["parts"]) if response["turns"] else ():
            if index in response["turns"]:
                yield f"    turn {response['turns'][index]}:"
            yield from _indent_lines(part)
        if not response["turns"]:
            yield from _indent_lines(" ".join(response["parts"]))
    for verdict in case_facts["verdicts"]:
        yield ""
        yield from _verdict_lines(verdict)


def _verdict_lines(verdict: dict[str, Any]) -> Iterator[str]:
    rater = f", rater {verdict['rater']}" if verdict["rater"] else ""
    revision = f", revision {verdict['revision']}" if verdict["revision"] else ""
    verdict_text = verdict["fault"] or ", ".join(f"{mark:g}" for mark in verdict["marks"])
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
        yield f"  what was sent has the digest {digest} (--judge SPEC renders it again)"


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
