"""Two results compared: what is better, worse or not known, paired wherever both saw the same."""
