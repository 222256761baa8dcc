"""Tests of the tools that look at pictures."""
