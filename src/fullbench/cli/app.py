"""All commands under one name."""

from __future__ import annotations

from fullbench.cli.panels import JUDGE, PANELS, add
from fullbench.cli.plugins import enter
from fullbench.cli.root import application

app = application()
for _panel, _names in PANELS.items():
    for _name in _names:
        add(app, _name, _panel)
    if _panel == JUDGE:
        enter(app, rich_help_panel=JUDGE)
