"""AlignMMBench (Wu et al. 2024): quality and consistency of a model's answers, in Chinese and English."""
