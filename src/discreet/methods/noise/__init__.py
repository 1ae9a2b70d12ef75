"""Independent noise under a budget (rinott §4, §7–8; ons method 1)."""
