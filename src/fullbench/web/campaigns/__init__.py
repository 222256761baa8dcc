"""Campaigns (studies for people): tasks, task queue, votes, pages and API."""
