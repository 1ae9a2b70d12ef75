"""What protection costs a table: measures of utility, for custodians who hold both tables."""
