"""Colours of pages and charts."""

from __future__ import annotations

INK, MUTED_INK, GRID, ACCENT = "#1b2430", "#5a6675", "#dde2e8", "#2457c5"
