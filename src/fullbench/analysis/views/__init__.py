"""Panels, cascades and rubrics, computed from their members' verdicts."""
