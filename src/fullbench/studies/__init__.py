"""Studies: plan, answer, judge, resume, replay and report. Every call to a model starts from this package."""
