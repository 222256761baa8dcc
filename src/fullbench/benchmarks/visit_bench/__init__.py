"""VisIT-Bench (Bitton et al., 2023): which model's answers do judges prefer, and how sure are we?"""
