"""Tests of the generators that are trained and tuned here."""
