"""DuckDB: `profiling.profile` looks, `loading.load` codes, `engine.open_engine` counts."""
