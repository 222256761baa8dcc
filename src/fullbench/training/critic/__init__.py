"""A critic of one's own: from answers that people scored to a judge that scores as they do."""
