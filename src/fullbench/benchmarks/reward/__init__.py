"""Reward-model benchmarks that release pairs with people's preferences: many layouts, shared cases and tables."""
