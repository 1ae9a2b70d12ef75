"""What to measure, at which share of the budget, and what that promises; public facts only."""
