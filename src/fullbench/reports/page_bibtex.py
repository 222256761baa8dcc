"""BibTeX entry of a page."""

from __future__ import annotations

import re
from collections.abc import Sequence


def bibtex_entry(
    name: str, title: str, note: str, address: str = "", *, authors: Sequence[str] = (), date: str = ""
) -> str:
    """Return a BibTeX entry. Braces in values are removed, because they would end the field.

    >>> print(bibtex_entry("our study", "Our {study}", "ledger 4f", "https://b.example.org/",
    ...     authors=["A. Li", "B. Roy"],
    ...                date="May 2026"))
    @misc{our_study,
      author = {A. Li and B. Roy},
      title = {Our study},
      year = {2026},
      note = {ledger 4f},
      url = {https://b.example.org/}
    }
    """
    key = re.sub(r"\W+", "_", name).strip("_") or "fullbench"
    year = re.search(r"\b\d{4}\b", date)
    fields = {"author": " and ".join(authors), "title": title, "year": year[0] if year else "", "note": note,
              "url": address}  # fmt: skip
    lines = [f"  {field} = {{{re.sub('[{}]', '', value)}}}" for field, value in fields.items() if value]
    return ",\n".join([f"@misc{{{key}", *lines]) + "\n}"
