"""Orders (ballots): rankings of some of the items."""
