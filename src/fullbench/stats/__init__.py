"""Statistics: estimates with intervals, computed from arrays of numbers. Imports no package except `core`."""
