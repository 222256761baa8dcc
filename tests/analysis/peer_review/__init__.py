"""What peers make of each other."""
