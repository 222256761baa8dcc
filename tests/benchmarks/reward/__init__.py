"""Tests of the reward benchmarks."""
