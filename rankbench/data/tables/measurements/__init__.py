"""Measurements: score tables, systems by tasks."""
