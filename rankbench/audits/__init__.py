"""An audit asks of one ranking what its readers ask: how few votes change it, how many more are needed."""
