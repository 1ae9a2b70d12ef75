"""What several figures of a section are made from."""
