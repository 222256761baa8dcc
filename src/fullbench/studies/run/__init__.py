"""Run a study from its inputs to its outputs."""
