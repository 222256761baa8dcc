"""Pictures with planted faults: blurs, masks, pairs, demographic grids."""
