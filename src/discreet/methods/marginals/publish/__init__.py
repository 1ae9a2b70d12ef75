"""What leaves: protected tables with their law, synthetic records, measurements as a file."""
