"""Models that answer prompts: behind servers, in this process, or offline."""
