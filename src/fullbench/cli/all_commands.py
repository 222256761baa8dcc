"""All commands under one name."""

from __future__ import annotations

from fullbench.cli.application import JUDGE, PANELS, add, application
from fullbench.cli.plugin_commands import enter

app = application()
for _panel, _names in PANELS.items():
    for _name in _names:
        add(app, _name, _panel)
    if _panel == JUDGE:
        enter(app, rich_help_panel=JUDGE)
