"""AlignMMBench (Wu et al. 2024): how well and how steadily a model answers, in Chinese and English."""
