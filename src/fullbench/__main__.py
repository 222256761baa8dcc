"""Entry point of `python -m fullbench`."""

from __future__ import annotations

from fullbench.cli import main

main()
