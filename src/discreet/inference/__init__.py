"""What a reader may conclude from a protected table: tests, intervals and comparisons that know the law.

Everything here sees what was released and nothing else: values, statuses and the published law. One
object, the `Channel`, says how likely each released symbol is for each true count; whatever rests
on it works for every law, p-table, cut and hidden cell alike.
"""
