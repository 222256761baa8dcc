"""MLLM-as-a-Judge (Chen et al., ICML 2024): how a judge compares with people on scores, pairs and rankings."""
