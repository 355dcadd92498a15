"""The kinds of tables: how their columns are found, checked and loaded."""
