"""Full, partial and anonymised copies of a ledger."""
