from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fullbench.errors import EngineError, InputError
from fullbench.studies.engines import HERE, engine_from_spec
from fullbench.studies.study_file import Study
from tests.support.ports import free_port
from tests.support.ray_cluster import environment, installed


def test_this_machine_is_the_engine_unless_another_is_named(tmp_path):
    with engine_from_spec("here") as found:
        assert found is HERE
    (tmp_path / "s.toml").write_text('name = "s"\nbenchmark = "synthetic"\nengine = "ray:auto?max=4"\n')
    assert Study.read(tmp_path / "s.toml").engine == "ray:auto?max=4"


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("spark", "there is no engine 'spark'; known: here, ray"),
        ("here:1", "there is no engine 'here:1'"),
        ("ray?workers=3", "has no option 'workers'; known: min, max"),
        ("ray?min=0", "'min' of the engine 'ray\\?min=0' is a whole number from 1; found '0'"),
        ("ray?min=3&max=2", "has a minimum of 3 workers and a maximum of 2"),
    ],
)
def test_an_engine_that_does_not_exist_is_refused_before_anything_starts(spec, sentence):
    with pytest.raises(InputError, match=sentence):
        engine_from_spec(spec)


@pytest.mark.skipif(not installed(), reason="no Ray: scripts/localray.sh could not install it")
@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "//127.0.0.1:{port}", "127.0.0.1:head"])
def test_an_address_where_nobody_is_gives_one_sentence(address):
    spec = "ray:" + address.format(port=free_port())
    with (
        pytest.raises(EngineError, match=r"cannot be joined .*; start it with 'ray start --head'"),
        engine_from_spec(spec),
    ):
        pass


@pytest.mark.slow
@pytest.mark.skipif(not installed(), reason="no Ray: scripts/localray.sh could not install it")
def test_a_ray_that_does_not_start_here_gives_one_sentence(tmp_path):
    """A folder for its sockets whose name is too long for any; before, this was called a fault inside fullbench."""
    (tmp_path / "s.toml").write_text('name = "s"\nbenchmark = "synthetic"\nengine = "ray"\n')
    command = [sys.executable, "-c", "from fullbench.cli import main; main()", "run", str(tmp_path / "s.toml")]
    env = {**os.environ, **environment(), "RAY_TMPDIR": str(tmp_path / ("long" * 30))}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env)
    assert done.returncode == 2, done.stderr
    assert "fullbench: Ray could not be started on this machine (" in done.stderr
    assert "without Ray (--engine here)" in done.stderr.strip().splitlines()[-1]


def test_without_ray_the_extra_is_named(tmp_path):
    """In a process where Ray cannot be imported, on the command line: one sentence, exit 2, nothing written."""
    (tmp_path / "s.toml").write_text('name = "s"\nbenchmark = "synthetic"\nengine = "ray"\n')
    script = "import sys; sys.modules['ray'] = None; from fullbench.cli import main; main()"
    command = [sys.executable, "-c", script, "run", str(tmp_path / "s.toml")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip().splitlines() == [
        "fullbench: the engine 'ray' needs an optional part: pip install '.[ray]' in the folder of fullbench"
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]
