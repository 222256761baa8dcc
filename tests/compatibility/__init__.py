"""Files of a release, kept as it wrote them: docs/reference/compatibility.md promises that they still work.

Until 0.2.0 is published, `python -m tests.compatibility` writes them again. After that they never change; the next
release gets a folder of its own.
"""
