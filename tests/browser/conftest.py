"""A browser for the tests that need one; they are skipped where there is none."""

import shutil

import pytest

FLAGS = ["--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="module")
def browser():
    """Closed with its module: while it is open, an event loop runs in this process, and no other can be started."""
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium on the PATH: scripts/browser.sh installs one where it may")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()
