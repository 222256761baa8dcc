"""The Compose file says what the command line and the app really take; Docker itself is not asked."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from fullbench.cli.all_commands import app
from tests.web.conftest import start_live

yaml = pytest.importorskip("yaml")
FOLDER = Path(__file__).parents[2] / "deploy"
SET = {"FULLBENCH_SITE": "bench.example.org", "FULLBENCH_LEDGER_FILE": "study.ledger", "FULLBENCH_DB_PASSWORD": "p w"}


def filled(text: str, known: dict[str, str]) -> str:
    """What Compose makes of `${NAME:-default}` and `${NAME:?what is missing}`."""

    def value(match: re.Match[str]) -> str:
        name, way, words = match.groups()
        if name in known:
            return known[name]
        if way == ":-":
            return words
        raise LookupError(f"{name}: {words}")

    return re.sub(r"\$\{(\w+)(:[-?])([^}]*)\}", value, text)


@pytest.fixture(scope="module")
def services():
    return yaml.safe_load(filled((FOLDER / "compose.yaml").read_text(encoding="utf-8"), SET))["services"]


def command(name: str):
    """The command of the command line by that name."""
    root = typer.main.get_command(app)
    found = root.get_command(root.make_context("fullbench", [], resilient_parsing=True), name)
    assert found is not None
    return found


def test_what_must_be_set_is_asked_for_in_words():
    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    for name in SET:
        with pytest.raises(LookupError, match=rf"{name}: \w+"):
            filled(text, {other: value for other, value in SET.items() if other != name})


def test_the_app_is_called_as_the_command_line_takes_it(services):
    name, *options = services["app"]["command"]
    called = command(name).make_context(name, list(options))
    assert called.args == [], "nothing is left over"
    assert called.params["url"] == "https://bench.example.org"
    assert called.params["host"] == "0.0.0.0"
    known = {variable for option in command(name).params for variable in _variables(option)}
    ours = {variable for variable in services["app"]["environment"] if variable.startswith("FULLBENCH")}
    assert ours <= known
    places = {volume.split(":")[1] for volume in services["app"]["volumes"]}
    assert {str(called.params["data"]), str(Path(services["app"]["environment"]["FULLBENCH_LEDGER"]).parent)} == places
    assert called.params["proxies"] == services["proxy"]["networks"]["inside"]["ipv4_address"]


def _variables(option) -> list[str]:
    names = option.envvar or []
    return [names] if isinstance(names, str) else list(names)


def test_one_port_leads_from_the_proxy_to_the_app(services):
    options = services["app"]["command"]
    (port,) = [option.removeprefix("--port=") for option in options if option.startswith("--port=")]
    proxied = (FOLDER / "Caddyfile").read_text(encoding="utf-8")
    assert f"reverse_proxy app:{port}" in proxied
    assert "{$FULLBENCH_SITE}" in proxied
    assert services["proxy"]["environment"]["FULLBENCH_SITE"] == "bench.example.org"
    assert services["proxy"]["ports"] == ["80:80", "443:443"]
    assert "ports" not in services["app"]
    assert "ports" not in services["db"], "only the proxy can be reached from outside"
    assert f":{port}/health" in services["app"]["healthcheck"]["test"][-1]
    assert f"EXPOSE {port}" in (FOLDER / "Dockerfile").read_text(encoding="utf-8")


def test_each_waits_for_what_it_needs_and_knows_the_same_database(services):
    waits = {name: set(service.get("depends_on", {})) for name, service in services.items()}
    assert waits == {"app": {"db"}, "db": set(), "proxy": {"app"}}
    for name in ("app", "db"):
        assert services[name]["healthcheck"]["test"]
    url = re.fullmatch(r"postgresql://(\w+)@(\w+)/(\w+)", services["app"]["environment"]["FULLBENCH_DATABASE"])
    database = services["db"]["environment"]
    assert url[1] == database["POSTGRES_USER"]
    assert url[2] in services
    assert url[3] == database["POSTGRES_DB"]
    assert services["app"]["environment"]["PGPASSWORD"] == database["POSTGRES_PASSWORD"] == "p w"


def test_the_image_holds_what_the_build_needs():
    lines = (FOLDER / "Dockerfile").read_text(encoding="utf-8").splitlines()
    root = FOLDER.parent
    copied = [name for line in lines if line.startswith("COPY") for name in shlex.split(line)[1:-1]]
    assert copied
    assert all((root / name).exists() for name in copied)
    extras = re.search(r"\[([\w,]+)\]", "\n".join(lines))[1].split(",")
    offered = (root / "pyproject.toml").read_text(encoding="utf-8")
    assert all(f"\n{extra} = [" in offered for extra in extras)


def test_the_health_check_of_the_file_passes_on_a_running_app(services, tmp_path):
    """The very words of the check, asked of a server that was started with the file's options."""
    ours = ("--port", "--data", "--host", "--workers")
    kept = [option for option in services["app"]["command"][1:] if not option.startswith(ours)]
    live = start_live(tmp_path, *kept, "--workers", "1", forked=False)
    try:
        check = services["app"]["healthcheck"]["test"][-1].replace("http://127.0.0.1:8000", live.url)
        assert subprocess.run([sys.executable, "-c", check], check=False, timeout=60).returncode == 0
        wrong = check.replace("/health", "/nowhere")
        assert subprocess.run([sys.executable, "-c", wrong], check=False, capture_output=True).returncode != 0
    finally:
        live.process.terminate()
        live.process.wait(timeout=120)
        live.engine.dispose()
