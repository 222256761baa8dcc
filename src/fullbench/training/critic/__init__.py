"""Critic training: from answers that people scored to a judge that scores as they do."""
