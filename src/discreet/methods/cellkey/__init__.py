"""The cell-key method: p-tables and their dialects, keys, risk, and the method itself.

sadeghi §IV–V, rinott §2; what the R packages ptable and cellKey and the ONS package do, exactly.
"""
