"""Each question that verdicts answer, computed once. Pure: a record in, tables out."""
