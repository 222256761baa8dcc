"""Studies for people: the tasks, the queue, the votes."""
