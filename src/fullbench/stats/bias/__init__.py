"""Estimators of judge bias."""
