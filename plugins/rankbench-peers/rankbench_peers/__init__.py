"""Other people's implementations as contenders of rankbench, as they come."""
