"""HTML pages: one self-contained file for a result, and a static site of several."""
