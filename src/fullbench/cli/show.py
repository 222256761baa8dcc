"""`fullbench show`: one case, or one verdict, with all that was sent and all that came back."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fullbench.cli.options import DEFAULT_LEDGER, JsonOption, LedgerOption
from fullbench.core.verdict import Reader
from fullbench.errors import InputError
from fullbench.text_safety import neutral

if TYPE_CHECKING:
    from fullbench.core.case import Case
    from fullbench.core.item import Part
    from fullbench.core.verdict import Verdict
    from fullbench.ledger.ledger import Ledger


def show(
    key: Annotated[str, typer.Argument(metavar="CASE|VERDICT", help="The key of a case or verdict, or its beginning.")],
    ledger: LedgerOption = DEFAULT_LEDGER,
    judge: Annotated[
        str | None,
        typer.Option(help="The spec of the judge, to render again what it was sent."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a case: the item, the responses, what each judge was sent, and what came back.

    Example: fullbench show 7e7817c8 --ledger study.ledger
    """
    from fullbench.ledger.ledger import Ledger

    with Ledger(ledger, read_only=True) as opened:
        case_key, total = _found(opened, key)
        ruled = zip(opened.sums(case_key), opened.verdicts(cases=[case_key], revisions=True), strict=True)
        verdicts = {name: verdict for name, verdict in ruled if total in {"", name}}
        shown = _told(case_key, opened.case(case_key), verdicts, judge)
    if as_json:
        typer.echo(json.dumps(shown, ensure_ascii=False, indent=2))
        return
    for line in _lines(shown):
        typer.echo(neutral(line))


def _found(ledger: Ledger, key: str) -> tuple[str, str]:
    """The case that a beginning of a key names, and the checksum of a verdict where it names one."""
    places = ledger.beginning_with(key)
    if not places:
        raise InputError(
            f"{ledger.place}: no case or verdict begins with {key!r}; `fullbench ledger export --to verdicts.csv` "
            "lists them all"
        )
    if len(places) > 1:
        some = ", ".join(total or case for case, total in places[:3])
        raise InputError(f"{ledger.place}: {len(places):,} cases or verdicts begin with {key!r} ({some}...); add to it")
    return places[0]


def _told(case_key: str, case: Case | None, verdicts: dict[str, Verdict], spec: str | None) -> dict[str, Any]:
    item = None if case is None else {
        "id": case.item.id,
        "turns": [{"role": turn.role, "parts": _parts(turn.parts)} for turn in case.item.turns],
        "reference": case.item.reference,
        "tags": dict(case.item.tags),
    }  # fmt: skip
    responses = [] if case is None else [
        {
            "contestant": response.contestant, "sample": response.sample, "stop": response.stop,
            "parts": _parts(response.parts),
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
            {"verdict": name, **_verdict(verdict, _rendered(case, verdict, spec))} for name, verdict in verdicts.items()
        ],
    }


def _verdict(verdict: Verdict, rendered: dict[str, list[Any]]) -> dict[str, Any]:
    from fullbench.core.ballot import ballot
    from fullbench.parsing import is_signed

    form, n = ballot(verdict.ballot), len(verdict.contestants)
    return {
        "judge": verdict.judge, "rater": verdict.rater, "trial": verdict.trial,
        "revision": verdict.revision, "marks": verdict.marks, "fault": verdict.fault, "confidence": verdict.confidence,
        "text": verdict.text,
        "cut_off": Reader(verdict.reader).cut, "reader": verdict.reader, "earlier": list(verdict.earlier),
        "prompt": verdict.prompt, "sent": rendered.get(verdict.prompt),
        "usage": _usage(verdict.usage), "at": verdict.at,
        "exchanges": [
            {
                "id": call.id, "prompt": call.prompt, "sent": call.sent or rendered.get(call.prompt), "text": call.text,
                "reasoning": call.reasoning, "stop": call.stop, "served": call.served,
                "fingerprint": call.fingerprint, "nonce": call.nonce,
                "carries_nonce": is_signed(form, call.text, n, call.nonce) if call.nonce else None,
                "usage": _usage(call.usage), "at": call.at,
            }
            for call in verdict.exchanges
        ],
    }  # fmt: skip


def _usage(usage: Any) -> dict[str, Any]:
    return {name: getattr(usage, name) for name in type(usage).__dataclass_fields__}


def _rendered(case: Case | None, verdict: Verdict, spec: str | None) -> dict[str, list[Any]]:
    """What the judge of that spec sends in this case, by its digest: what the ledger does not keep as text."""
    if case is None or spec is None:
        return {}
    from fullbench.core.judge import prompts_of
    from fullbench.studies import judge_and_model_specs

    nonce = next((call.nonce for call in verdict.exchanges if call.nonce), "")
    sent = prompts_of(judge_and_model_specs.judge(spec), case.at(verdict.trial).with_nonce(nonce)) or ()
    return {
        prompt.digest: [{"role": turn.role, "parts": _parts(turn.parts)} for turn in prompt.turns] for prompt in sent
    }


def _parts(parts: tuple[Part, ...]) -> list[str]:
    return [part if isinstance(part, str) else f"<picture {part.digest}>" for part in parts]


def _lines(shown: dict[str, Any]) -> Iterator[str]:
    yield f"case {shown['case']}: ballot {shown['ballot']}, criterion {shown['criterion']}"
    if shown["item"] is None:
        yield "what was judged is not in the ledger: only the verdicts are known"
    else:
        yield f"item {shown['item']['id']}"
        yield from _turns(shown["item"]["turns"])
        if shown["item"]["reference"] is not None:
            yield f"  reference: {shown['item']['reference']}"
    for response in shown["responses"]:
        number = f", sample {response['sample']}" if response["sample"] else ""
        ended = f", ended by {response['stop']}" if response["stop"] else ""
        yield f"response of {response['contestant']}{number}{ended}"
        yield from _indented(" ".join(response["parts"]))
    for verdict in shown["verdicts"]:
        yield ""
        yield from _verdict_lines(verdict)


def _verdict_lines(verdict: dict[str, Any]) -> Iterator[str]:
    rater = f", rater {verdict['rater']}" if verdict["rater"] else ""
    revision = f", revision {verdict['revision']}" if verdict["revision"] else ""
    ruling = verdict["fault"] or ", ".join(f"{mark:g}" for mark in verdict["marks"])
    if verdict["confidence"] is not None:
        ruling += f", sure by {verdict['confidence']:.2f}"
    if verdict["fault"] == "unreadable" and verdict["cut_off"]:
        ruling += " (cut off by the limit on its length: raise the judge's max_tokens)"
    yield f"verdict {verdict['verdict']} of {verdict['judge']}{rater}, trial {verdict['trial']}{revision}: {ruling}"
    yield f"  {_cost(verdict['usage'], verdict['at'])}"
    if not verdict["exchanges"]:
        yield from _sent(verdict["sent"], verdict["prompt"])
        if verdict["text"]:
            yield "  what came back:"
            yield from _indented(verdict["text"])
    for number, call in enumerate(verdict["exchanges"], 1):
        yield f"  exchange {number}: {_cost(call['usage'], call['at'])}"
        yield from _sent(call["sent"], call["prompt"])
        for name in ("reasoning", "text"):
            if call[name]:
                yield f"  {'what came back' if name == 'text' else 'what it thought'}:"
                yield from _indented(call[name])
        about = {"ended by": call["stop"], "served by": call["served"], "fingerprint": call["fingerprint"]}
        if call["nonce"]:
            about["asked for with the nonce"] = call["nonce"]
            about["which the ruling"] = "carries" if call["carries_nonce"] else "does not carry"
        if any(about.values()):
            yield "  " + ", ".join(f"{name} {value}" for name, value in about.items() if value)


def _sent(sent: Any, digest: str) -> Iterator[str]:
    if isinstance(sent, list):
        yield "  what was sent:"
        yield from _turns(sent)
    elif sent:
        yield "  what was sent:"
        yield from _indented(sent)
    elif digest:
        yield f"  what was sent has the digest {digest} (--judge SPEC renders it again)"


def _turns(turns: list[dict[str, Any]]) -> Iterator[str]:
    for turn in turns:
        yield f"  {turn['role']}:"
        yield from _indented(" ".join(turn["parts"]))


def _indented(text: str) -> Iterator[str]:
    yield from (f"    {line}" for line in text.splitlines() or [""])


def _cost(usage: dict[str, Any], at: float) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    dollars = "unknown price" if usage["dollars"] is None else f"{usage['dollars']:.6g} dollars"
    cached, stored = usage["cached"], usage["stored"]
    caches = [] if cached is None else [f"{cached:,} from the server's cache"]
    caches += [f"{stored:,} into it"] if stored else []
    cache = f" ({', '.join(caches)})" if caches else ""
    tokens = f"{usage['tokens_in']:,} tokens in{cache}, {usage['tokens_out']:,} out"
    return f"{when}; {tokens}, {dollars}, {usage['seconds']:.3g} s"
