"""Simulators: data sets that nobody ever judged, with their assumptions written down."""
