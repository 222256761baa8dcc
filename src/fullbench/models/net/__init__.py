"""How a request travels: transport, rate limits, circuit breakers, hedging, streaming."""
