"""Who is audited: judges by their specs, and panels and cascades of judges, as a TOML file names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fullbench.core.judge import Judge
from fullbench.core.panel import CASCADE, PANEL, View, is_view
from fullbench.errors import InputError
from fullbench.files.toml_files import read_toml
from fullbench.ledger.ledger import Ledger
from fullbench.studies import judge_and_model_specs
from fullbench.studies.run import panels_and_cascades
from fullbench.studies.study_file import Study
from fullbench.studies.study_file_tables import views as checked


@dataclass(frozen=True)
class Seats:
    """`names` are those who get a card, `judges` those who are asked: of a panel or cascade, its members.

    `second` are asked only about what a smaller judge leaves in doubt.
    """

    names: tuple[str, ...]
    judges: tuple[Judge, ...]
    specs: dict[str, str]
    views: tuple[View, ...] = ()
    second: tuple[str, ...] = ()

    def members(self, name: str) -> tuple[str, ...]:
        """The judges that a panel or cascade is made of; nobody where it is neither."""
        return next((view.members for view in self.views if view.name == name), ())


def seats(wanted: Sequence[str], panels: Path | None = None) -> Seats:
    """The judges that are named by their specs; those called `panel:NAME` and `cascade:NAME` stand in a file."""
    named = [spec for spec in wanted if is_view(spec)]
    if named and panels is None:
        raise InputError(f"{named[0]} is named in a TOML file, as [panels.NAME] with members; say which by --panels")
    study = _named(named, panels) if panels is not None else Study("audit")
    listed = list(
        dict.fromkeys([spec for spec in wanted if not is_view(spec)] + panels_and_cascades.member_specs(study))
    )
    judges = [judge_and_model_specs.judge(spec) for spec in listed]
    judge_and_model_specs.distinct("judges", [judge.name for judge in judges])
    names = {spec: judge.name for spec, judge in zip(listed, judges, strict=True)}
    first = Study("audit", judges=tuple(spec for spec in wanted if not is_view(spec)), panels=study.panels,
                  cascades=study.cascades)  # fmt: skip
    return Seats(
        tuple(spec if is_view(spec) else names[spec] for spec in dict.fromkeys(wanted)),
        tuple(judges),
        {name: spec for spec, name in names.items()},
        tuple(panels_and_cascades.named_views(study, names)),
        tuple(panels_and_cascades.second_judges(first, names)),
    )


def _named(wanted: Sequence[str], path: Path) -> Study:
    """A study of those panels and cascades of a file that are wanted; nothing else in the file is looked at."""

    def wrong(_key: str, sentence: str) -> InputError:
        return InputError(sentence, path=path)

    table, _ = read_toml(path, "the panels")
    panels = checked("panels", table.get("panels", {}), wrong)
    cascades = checked("cascades", table.get("cascades", {}), wrong)
    known = [*(f"{PANEL}{name}" for name in panels), *(f"{CASCADE}{name}" for name in cascades)]
    if missing := [spec for spec in wanted if spec not in known]:
        raise InputError(f"there is no {missing[0]!r}; named here: {', '.join(known) or 'none'}", path=path)
    return Study(
        "audit",
        panels={name: entry for name, entry in panels.items() if f"{PANEL}{name}" in wanted},
        cascades={name: entry for name, entry in cascades.items() if f"{CASCADE}{name}" in wanted},
        path=path,
    )


def members_of(ledger: Ledger, judge: str) -> tuple[str, ...]:
    """The judges that a panel or cascade of a ledger is made of; nobody where it is neither."""
    if not is_view(judge):
        return ()
    return next((view.members for view in ledger.views() if view.name == judge), ())
