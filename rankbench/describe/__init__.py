"""What is in a table, and what is suspicious about it: one describer for each kind of table."""
