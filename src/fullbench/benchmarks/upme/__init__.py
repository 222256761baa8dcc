"""UPME: contestants review each other, and a ranking results without labels; with its predecessors PRD and PiCO."""
