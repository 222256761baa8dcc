"""VisIT-Bench (Bitton et al., 2023): a leaderboard of judges' preferences between answers, with uncertainty."""
