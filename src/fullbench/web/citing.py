"""How a page is cited."""

from __future__ import annotations

import re


def citation(name: str, title: str, note: str, address: str = "") -> str:
    """An entry for BibTeX; braces of a title are left out, since they would end its field.

    >>> print(citation("our study", "Our {study}", "ledger 4f", "https://b.example.org/"))
    @misc{our_study,
      title = {Our study},
      note = {ledger 4f},
      url = {https://b.example.org/}
    }
    """
    key = re.sub(r"\W+", "_", name).strip("_") or "fullbench"
    fields = {"title": title, "note": note, "url": address}
    lines = [f"  {field} = {{{re.sub('[{}]', '', value)}}}" for field, value in fields.items() if value]
    return ",\n".join([f"@misc{{{key}", *lines]) + "\n}"
