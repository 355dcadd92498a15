"""What a run keeps: its journal, written by one process alone, and the files made from it."""
