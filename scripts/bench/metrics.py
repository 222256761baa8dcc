"""Text metrics on 10,000 pairs of about 60 words, beside the packages that define them: CPU seconds, equal values."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scripts.bench import Row
from scripts.bench.peers import python_of

PAIRS, WORDS = 10_000, 59
PEERS = {
    "rouge-score": """
import json, sys, time
from rouge_score.rouge_scorer import RougeScorer
class Words:
    def tokenize(self, text): return text.split()
scorer = RougeScorer(["rougeL"], tokenizer=Words())
pairs = json.load(open(sys.argv[1]))
start = time.process_time()
found = [scorer.score(reference, given)["rougeL"].fmeasure for given, reference in pairs]
print(json.dumps([time.process_time() - start, found]))
""",
    "pycocoevalcap": """
import json, sys, time
from pycocoevalcap.cider.cider import Cider
pairs = json.load(open(sys.argv[1]))
start = time.process_time()
_, found = Cider().compute_score({i: [r] for i, (_, r) in enumerate(pairs)}, {i: [g] for i, (g, _) in enumerate(pairs)})
print(json.dumps([time.process_time() - start, [float(one) for one in found]]))
""",
}


def _pairs() -> list[tuple[str, str]]:
    rng = random.Random(0)
    words, weights = [f"w{i}" for i in range(2000)], [1 / (i + 1) for i in range(2000)]
    made = []
    for _ in range(PAIRS):
        reference = rng.choices(words, weights, k=WORDS)
        given = [word if rng.random() < 0.6 else rng.choices(words, weights)[0] for word in reference]
        made.append((" ".join(given[: rng.randint(40, WORDS)]), " ".join(reference)))
    return made


def _ours(name: str, pairs: list[tuple[str, str]]) -> tuple[float, list[float]]:
    from fullbench.judges.metrics.cider import Cider
    from fullbench.judges.metrics.ngram_overlap import rouge_l

    start = time.process_time()
    split = [(given.split(), reference.split()) for given, reference in pairs]
    if name == "rouge-score":
        found = [rouge_l(given, reference) for given, reference in split]
    else:
        metric = Cider.from_references(reference for _, reference in split)
        found = [metric.score(given, [reference]) for given, reference in split]
    return time.process_time() - start, found


def main() -> list[Row]:
    """All rows; a value that differs from the package's is an error."""
    pairs = _pairs()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pairs.json"
        file.write_text(json.dumps(pairs), encoding="utf-8")
        for name, code in PEERS.items():
            python = python_of(name)
            if python is None:
                sys.stderr.write(f"{name} is left out: it could not be installed\n")
                continue
            theirs, wanted = json.loads(subprocess.check_output([python, "-c", code, file], text=True).splitlines()[-1])
            mine, found = _ours(name, pairs)
            gap = max(abs(one - two) for one, two in zip(found, wanted, strict=True))
            if gap > 1e-9:
                raise AssertionError(f"{name} differs from ours by {gap}")
            what = "ROUGE-L" if name == "rouge-score" else "CIDEr-D"
            rows.append(Row.of(f"{what}, 10,000 pairs, equal values", mine, theirs, name, "CPU s"))
    return rows
