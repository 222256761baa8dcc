"""Judges that score a picture for a prompt: CLIP and its like, any callable, and measures that need no weights."""
