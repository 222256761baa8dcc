"""Training data of a critic: prompts, scored answers, tensors."""
