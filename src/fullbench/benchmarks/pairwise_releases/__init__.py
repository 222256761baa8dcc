"""Pairwise verdicts that others released, read as they are: WildVision, QLoRA's Vicuna and OA, AlpacaEval, PandaLM."""
