"""`python -m fullbench`, for launchers that start a module."""

from __future__ import annotations

from fullbench.cli import main

main()
