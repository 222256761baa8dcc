"""Pictures and prompts made for a study: near-duplicates, manifests, safe forms of prompts."""
