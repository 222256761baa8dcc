"""Agreement between raters, and consensus of several raters."""
