"""What a workspace keeps in Postgres, so that several hosts share it (needs the extra `postgres`)."""
