"""The engine room: data are dictionary-coded once (`coding`, `loading`), then counted (`duckdb`).

`profiling` looks at a source before anything is declared; `base` is the protocol every engine
keeps. True counts leave only as sealed tables.
"""
