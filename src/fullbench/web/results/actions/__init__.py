"""Actions of signed-in visitors: vote, request another verdict, run requests."""
