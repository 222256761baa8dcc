"""The application with all commands."""

from __future__ import annotations

from fullbench.cli.application import full_application

app = full_application()
