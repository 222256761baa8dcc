#!/bin/sh
# Browser tests need Chromium. Install it where we may; say so where we may not. Never fails.
if command -v chromium-headless-shell >/dev/null 2>&1 || command -v chromium >/dev/null 2>&1; then
  exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "[fullbench] installing chromium-headless-shell for the browser tests" >&2
  if { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends chromium-headless-shell fonts-noto-cjk; } >/dev/null 2>&1; then
    exit 0
  fi
fi
echo "[fullbench] no Chromium here: browser tests will be skipped" >&2
exit 0
