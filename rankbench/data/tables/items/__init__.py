"""Items: what is ranked, with features and graded labels."""
