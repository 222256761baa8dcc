"""Building pictures to judge: blurs, masks, prompts, demographic grids, duplicates, manifests."""
