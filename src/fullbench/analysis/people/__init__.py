"""Tables from human votes: joining, correction, next votes."""
