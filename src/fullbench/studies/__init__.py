"""What touches the world: answering, hearing, studies, progress."""
