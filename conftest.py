"""What is not collected (modules that import torch at their head, where torch is not installed), and threads of numpy.

Doctests of all other modules are collected, and one that cannot be imported is an error.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent

# As `fullbench` itself does, before numpy is imported: tests that run beside each other would wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_TORCH = re.compile(r"^(import|from) torch\b", re.MULTILINE)

collect_ignore = [
    str(path.relative_to(HERE))
    for folder in ("src/fullbench/training", "tests/training/generator/toy")
    for path in (HERE / folder).rglob("*.py")
    if find_spec("torch") is None and _TORCH.search(path.read_text(encoding="utf-8"))
]
