"""Actions of signed-in visitors: vote, request another judgment."""
