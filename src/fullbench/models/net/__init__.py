"""Transport of requests: HTTP client, rate limits, retries, circuit breaker, hedging, streaming of replies."""
