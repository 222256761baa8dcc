"""Generators of pictures: one small enough to train here, and their tuning by a judge's feedback."""
