"""How a judge's reply becomes marks."""
