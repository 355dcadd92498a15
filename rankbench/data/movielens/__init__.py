"""Ratings of movies: the features, folds and pairs of Table 1 of [DMJ10]_."""
