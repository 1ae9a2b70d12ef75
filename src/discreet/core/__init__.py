"""Pure ideas: domains, tables, laws, audits, guarantees. No I/O, clock, SQL or global randomness."""
