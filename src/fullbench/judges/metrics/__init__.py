"""Text metrics as judges: BLEU-4, ROUGE-L, METEOR, CIDEr and BERTScore against the item's reference."""
