"""Names of judges and contestants shortened to a width, so that different names stay different."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size

_ROLE = " (judge)"
_LEAST_WIDTH = 5
"""Narrower widths leave names whole: a cut needs a beginning, an ellipsis and an end."""
_LEAST_PART = 2


def shorten_names(names: Sequence[str], most: int, *, are_judges: bool = False) -> list[str]:
    """Return names of at most this width. If one is longer, all lose their owner (`org/`); then long ones are cut.

    The place of the cut is chosen so that different names stay different, if the width allows it.

    Args:
        names: The names, some of them perhaps several times.
        most: The width.
        are_judges: Whether all are judges, so that ` (judge)` at the end of long names says nothing new.

    >>> shorten_names(["org/model-8b-instruct", "org/model-2b-instruct", "short"], 18)
    ['model-8b-instruct', 'model-2b-instruct', 'short']
    >>> shorten_names(["a-model-with-a-long-name-v2"], 15)
    ['a-model…name-v2']
    >>> shorten_names(["model-90B-Vision", "model-11B-Vision"], 13)
    ['model-9…ision', 'model-1…ision']
    >>> shorten_names(["a-long-name-1-of-a-model", "a-long-name-2-of-a-model"], 12)
    ['…ong-name-1…', '…ong-name-2…']
    """
    distinct = list(dict.fromkeys(names))
    if most < _LEAST_WIDTH or all(cell_len(name) <= most for name in distinct):
        return list(names)
    shown_names = distinct
    shorter_forms = [[name.rpartition("/")[2] or name for name in shown_names]]
    if are_judges:
        shorter_forms.append([name.removesuffix(_ROLE) for name in shorter_forms[0]])
    for forms in shorter_forms:
        if len(set(forms)) == len(forms) and any(cell_len(name) > most for name in shown_names):
            shown_names = forms
    cuts = _possible_cuts(shown_names, most)
    cut = next((cut for cut in cuts if len(set(cut)) == len(cut)), next(_possible_cuts(shown_names, most)))
    short = dict(zip(distinct, cut, strict=True))
    return [short[name] for name in names]


def _possible_cuts(names: Sequence[str], most: int) -> Iterator[list[str]]:
    """Yield the names cut at one place: in the middle first, then nearer to an end, then at both ends."""
    middle = (most - 1) // 2
    for tail in sorted(range(_LEAST_PART, most - _LEAST_PART), key=lambda size: (abs(size - middle), size)):
        yield [_cut_middle(name, most, tail) for name in names]
    for start in range(max(map(len, names))):
        yield [
            name if cell_len(name) <= most else f"…{set_cell_size(name[start:], most - 2).rstrip()}…" for name in names
        ]


def _cut_middle(name: str, most: int, tail: int) -> str:
    if cell_len(name) <= most:
        return name
    size = tail
    while cell_len(name[-size:]) > tail:
        size -= 1
    return set_cell_size(name, most - 1 - cell_len(name[-size:])).rstrip() + "…" + name[-size:]
