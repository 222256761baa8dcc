"""Confidence intervals: bootstrap, item clusters, strata, shares."""
