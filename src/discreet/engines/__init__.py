"""The engine room: data are dictionary-coded once (`coding`), then counted.

`base` says what every engine does; `duckdb` does it. True counts leave only as sealed tables.
"""
