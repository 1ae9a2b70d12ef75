"""What methods share: estimators, workloads, synthetic tables, rounding, guarantees, assembly.

Nothing here knows a method; methods know this room and not one another.
"""
