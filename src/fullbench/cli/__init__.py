"""The command line: one file a command."""

from __future__ import annotations


def main() -> None:
    """Entry point of the `fullbench` command."""
