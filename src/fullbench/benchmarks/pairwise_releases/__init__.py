"""Pairwise verdicts released by others: WildVision, QLoRA's Vicuna and OA, AlpacaEval, PandaLM."""
