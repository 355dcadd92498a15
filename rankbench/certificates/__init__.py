"""Certificates prove that a surrogate is consistent or not, and a third person can check them."""
