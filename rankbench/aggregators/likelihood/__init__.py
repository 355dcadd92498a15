"""Maximum likelihood of models of comparisons, on counts by pair: fits, their covariance, their refits."""
