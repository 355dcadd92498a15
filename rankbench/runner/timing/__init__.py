"""Contenders, or two versions of rankbench, timed in turns: processes, their order, when to stop."""
