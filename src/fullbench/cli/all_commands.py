"""The application with all commands."""

from __future__ import annotations

from fullbench.cli.application import HELP_PANELS, JUDGE, add_command, create_application
from fullbench.cli.plugin_commands import add_plugin_commands

app = create_application()
for _panel, _names in HELP_PANELS.items():
    for _name in _names:
        add_command(app, _name, _panel)
    if _panel == JUDGE:
        add_plugin_commands(app, rich_help_panel=JUDGE)
