"""A report as a document: a tree of blocks, and writers for Markdown, CSV and terminals."""
