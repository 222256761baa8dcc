"""Schemathesis over the whole API: whatever is sent, no answer is a defect, and each keeps to the description."""

from collections import Counter

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as bounded
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from fullbench.web.results.catalogue import fill_catalogue
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.api_script import Script
from tests.web.results import making

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
FEW = bounded(
    max_examples=6,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
MODES = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]


@pytest.fixture(scope="module")
def small_ledger(tmp_path_factory):
    return making.fill(tmp_path_factory.mktemp("fuzzed") / "small.ledger")


@pytest.fixture
def settings(database, tmp_path, small_ledger):
    return Settings(database, str(small_ledger), tmp_path / "data")


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_every_call_keeps_to_its_description(app, mode):
    # Ten seconds are the usual limit, and too few for a first call on a busy machine.
    described = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, timeout=120)
    answers = Counter()
    fill_catalogue.fill_from_ledger(app.state.engine, app.state.ledger)
    with Script(app, "fuzz", "organiser") as script, Script(app, "second", "organiser"):
        headers = {"Authorization": script.headers["Authorization"]}
        for found in described.get_all_operations():
            operation = found.ok()

            @FEW
            @given(case=operation.as_strategy(generation_mode=mode))
            def call(case):
                answers[case.call_and_validate(headers=headers, checks=CHECKS).status_code // 100] += 1

            if mode is MODES[0] or _can_be_wrong(operation):
                call()
    assert answers.total() >= 80
    assert answers[2 if mode is MODES[0] else 4] > 40


def _can_be_wrong(operation) -> bool:
    """A call that takes nothing cannot be given anything wrong."""
    return bool(list(operation.query) or list(operation.path_parameters) or list(operation.body))
