"""What a workspace keeps in SQLite files, on one machine."""
