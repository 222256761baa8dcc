"""Import and export of other tools' files, as plugins of the types `importers` and `exporters`."""
