"""Benchmarks of reward models that release pairs and which of them people prefer: one core, one table, many layouts."""
