"""The application with all commands."""

from __future__ import annotations

from fullbench.cli.command_modules_and_help_panels import full_application

app = full_application()
