"""MLLM-as-a-Judge (Chen et al., ICML 2024): judges compared with people on scores, pairs and rankings."""
