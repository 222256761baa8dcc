"""UPME: contestants that review each other, and a ranking without labels; with its two forerunners, PRD and PiCO."""
