"""Selections (clicks): what was shown, and which positions were clicked."""
