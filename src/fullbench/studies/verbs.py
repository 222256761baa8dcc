"""The verbs of a notebook: answer, judge, run, report. What is heavier stands in the rooms themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from fullbench.figures import standard
from fullbench.ledger.store import Ledger
from fullbench.nouns.case import Case
from fullbench.nouns.item import Item
from fullbench.nouns.judge import Judge
from fullbench.nouns.model import Model
from fullbench.nouns.record import Record
from fullbench.nouns.response import Response
from fullbench.nouns.table import Table
from fullbench.studies import answer as answering
from fullbench.studies import hear as hearing
from fullbench.studies import seated, specs
from fullbench.studies.conduct import Conducted
from fullbench.studies.kinds import conductor
from fullbench.studies.study import Study
from fullbench.studies.trust import refuse_risks


def answer(
    contestants: Sequence[Model | str], items: Iterable[Item], ledger: Ledger, *, samples: int = 1
) -> list[Response]:
    """Let contestants (models, or specs such as `openai:gpt-4o`) answer items; what the ledger holds is not asked.

    What is given back is every answer at hand, those of earlier runs among them.
    """
    models = [specs.contestant(model) if isinstance(model, str) else model for model in contestants]
    asked = list(items)
    answering.answer(models, asked, ledger, samples=samples)
    return list(ledger.responses([model.name for model in models], item_keys=[item.key for item in asked]))


def judge(judges: Sequence[Judge | str], cases: Iterable[Case], ledger: Ledger) -> Record:
    """Let judges (judges, or specs such as `length`) rule on cases; what the ledger holds is not asked again."""
    bench = [specs.judge(judge) if isinstance(judge, str) else judge for judge in judges]
    docket = list(cases)
    hearing.hear(bench, lambda _: docket, ledger)
    return ledger.record([judge.name for judge in bench], cases={case.key for case in docket})


def run(study: Study | Path | str, *, quiet: bool = True) -> Conducted:
    """Conduct a study, or the study in a file, in the ledger that it names; the same call goes on where one stopped."""
    plan = study if isinstance(study, Study) else Study.read(study)
    refuse_risks(plan)
    conducting = conductor(plan)
    with Ledger(plan.ledger, pictures=plan.pictures, study=plan.name) as ledger:
        return conducting.conduct(ledger, budget=plan.budget, quiet=quiet)


def report(verdicts: Record | Ledger, *, against: str | None = None, seed: int = 0) -> list[Table]:
    """The tables that `fullbench report` prints: leaderboards, agreement, steadiness, faults and cost."""
    columns = seated.columns(verdicts) if isinstance(verdicts, Ledger) else verdicts
    return standard.tables(columns, against=against, seed=seed)
