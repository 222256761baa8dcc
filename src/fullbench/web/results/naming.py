"""What people see of a judge's name: as much as tells it from the others beside it.

A name holds all that can change what a judge says (`gpt-4o@lab?t=0.2+analyze#1f3a9c20`); beside others the model is
often enough. Addresses, exports and the API have the full names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from fullbench.web.results.rulings import is_panel, is_person


def short_names(names: Iterable[str], chosen: Mapping[str, str] | None = None) -> dict[str, str]:
    """A name to show for each of these, no two alike; where short ones are, they say more, in the end all.

    Those for whom somebody has `chosen` a name have that one.

    >>> short_names(["gpt-4o+direct#1f3a9c20", "glm@lab+analyze#2b", "glm@lab+direct#3c", "human"]).values()
    dict_values(['gpt-4o', 'glm@lab+analyze', 'glm@lab+direct', 'human'])
    """
    lengths = {name: [chosen[name]] if chosen and name in chosen else _lengths(name) for name in names}
    said = dict.fromkeys(lengths, 0)
    while True:
        shown = {name: lengths[name][place] for name, place in said.items()}
        taken = Counter(shown.values())
        unclear = [name for name in said if taken[shown[name]] > 1 and said[name] < len(lengths[name]) - 1]
        if not unclear:
            return shown
        for name in unclear:
            said[name] += 1


def _lengths(name: str) -> list[str]:
    """A name from its shortest form to the whole: the model, then all but the digest, then everything."""
    if is_person(name) or is_panel(name):
        return [name]
    model = re.split(r"[?+#@]", name, maxsplit=1)[0].strip()
    manner = re.sub(r"#[0-9a-f]+$", "", name).strip()
    return list(dict.fromkeys(form for form in (model, manner, name) if form)) or [name]
