"""Judges of an audit from their specs, with panels and cascades defined in a TOML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fullbench.core.judge import Judge
from fullbench.core.panel_and_cascade import CASCADE, PANEL, View, is_view
from fullbench.errors import InputError
from fullbench.files.toml_reader import read_toml
from fullbench.ledger.ledger import Ledger
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.run import panels_and_cascades
from fullbench.studies.study_file import Study
from fullbench.studies.study_file_sections_for_kinds_and_panels import parse_views as checked


@dataclass(frozen=True)
class AuditedJudges:
    """Judges that get a card (`names`) and judges that are called (`judges`: members instead of panels and cascades).

    `second_judges` are called only for cases that a smaller judge leaves in doubt.
    """

    names: tuple[str, ...]
    judges: tuple[Judge, ...]
    specs_by_name: dict[str, str]
    views: tuple[View, ...] = ()
    second_judges: tuple[str, ...] = ()

    def members(self, name: str) -> tuple[str, ...]:
        """Return the members of a panel or cascade; empty for any other judge."""
        return next((view.members for view in self.views if view.name == name), ())


def load_audited_judges(requested_specs: Sequence[str], panels: Path | None = None) -> AuditedJudges:
    """Load judges from specs; `panel:NAME` and `cascade:NAME` are defined in the file `panels`."""
    view_specs = [spec for spec in requested_specs if is_view(spec)]
    if view_specs and panels is None:
        raise InputError(f"{view_specs[0]} is defined in a TOML file, as [panels.NAME] with members. Add --panels FILE")
    study = _load_views(view_specs, panels) if panels is not None else Study("audit")
    judge_specs = list(
        dict.fromkeys([spec for spec in requested_specs if not is_view(spec)] + panels_and_cascades.member_specs(study))
    )
    judges = [judge_contestant_and_benchmark_specs.judge_from_spec(spec) for spec in judge_specs]
    judge_contestant_and_benchmark_specs.refuse_duplicates("judges", [judge.name for judge in judges])
    names = {spec: judge.name for spec, judge in zip(judge_specs, judges, strict=True)}
    requested_study = Study(
        "audit",
        judges=tuple(spec for spec in requested_specs if not is_view(spec)),
        panels=study.panels,
        cascades=study.cascades,
    )
    return AuditedJudges(
        tuple(spec if is_view(spec) else names[spec] for spec in dict.fromkeys(requested_specs)),
        tuple(judges),
        {name: spec for spec, name in names.items()},
        tuple(panels_and_cascades.build_views(study, names)),
        tuple(panels_and_cascades.second_judges(requested_study, names)),
    )


def _load_views(view_specs: Sequence[str], path: Path) -> Study:
    """Return only the requested panels and cascades, as a study."""

    def error_at(_key: str, sentence: str) -> InputError:
        return InputError(sentence, path=path)

    table, _ = read_toml(path, "the panels")
    panels = checked("panels", table.get("panels", {}), error_at)
    cascades = checked("cascades", table.get("cascades", {}), error_at)
    defined_specs = [*(f"{PANEL}{name}" for name in panels), *(f"{CASCADE}{name}" for name in cascades)]
    if missing := [spec for spec in view_specs if spec not in defined_specs]:
        raise InputError(f"there is no {missing[0]!r}; defined here: {', '.join(defined_specs) or 'none'}", path=path)
    return Study(
        "audit",
        panels={name: entry for name, entry in panels.items() if f"{PANEL}{name}" in view_specs},
        cascades={name: entry for name, entry in cascades.items() if f"{CASCADE}{name}" in view_specs},
        path=path,
    )


def view_members(ledger: Ledger, judge: str) -> tuple[str, ...]:
    """Return the members of a panel or cascade in a ledger; empty for any other judge."""
    if not is_view(judge):
        return ()
    return next((view.members for view in ledger.views() if view.name == judge), ())
