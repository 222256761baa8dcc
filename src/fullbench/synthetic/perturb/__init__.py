"""Pictures whose fault is known because it was made: blurs, masks, pairs, demographic grids."""
