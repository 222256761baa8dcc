"""What all tests in a real browser share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

PATIENCE = 60_000
"""Milliseconds in which a page gets anywhere it gets at all, on a busy machine."""


@contextmanager
def new_page(page: Page) -> Iterator[None]:
    """What is done in the block leads to another page, which is loaded when the block ends.

    A click returns before the browser has begun to leave the old page: whoever looks then may still see that one.
    """
    with page.expect_navigation(wait_until="load", timeout=PATIENCE):
        yield


def follow(page: Page, link: Locator) -> None:
    """Click on what leads to another page, and be there."""
    with new_page(page):
        link.click()
