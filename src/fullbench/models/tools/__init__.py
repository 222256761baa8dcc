"""Tools that write notes on a picture: its objects, its text, its colours."""
