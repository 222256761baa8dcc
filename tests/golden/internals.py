"""All that the golden values need from inside the package. When modules move, this file changes and no other one here.

Everything else goes by the command line, by entry points, or by the names that `import fullbench` offers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fullbench.cli.all_commands import app
from fullbench.cli.command_modules_and_help_panels import build_command
from fullbench.errors import FullbenchError
from fullbench.studies.judge_contestant_and_benchmark_specs import contestant_from_spec, judge_from_spec

__all__ = ["FullbenchError", "app", "build_command", "contestant_from_spec", "judge_from_spec", "openapi"]


def openapi(folder: Path) -> dict[str, Any]:
    """The document that the web app serves to programs."""
    from starlette.testclient import TestClient

    from fullbench.web.app import create_app
    from fullbench.web.site_settings_and_worker_transfer import Settings

    made = create_app(Settings(f"sqlite:///{folder / 'web.sqlite'}", data=folder / "data"))
    try:
        # Without a `with`: the app's background work is not started.
        answer = TestClient(made).get("/api/v1/openapi.json")
        assert answer.status_code == 200, answer.text
        return answer.json()
    finally:
        made.state.engine.dispose()
