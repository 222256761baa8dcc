"""Courts with planted truth, on which ways of reviewing are tried."""
