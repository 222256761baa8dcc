"""Training of your own critics and picture generators."""
