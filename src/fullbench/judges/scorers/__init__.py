"""Judges that score a picture for a prompt: CLIP and similar models, any function, and measures without weights."""
