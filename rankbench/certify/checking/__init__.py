"""The checker of certificates: the standard library and mpmath alone, no code of the search."""
