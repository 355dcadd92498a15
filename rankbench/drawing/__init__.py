"""Figures on paper: what is drawn, as data, with colors, axes with words, and a legend; without a result or a file."""
