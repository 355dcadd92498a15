"""One log, one method, one answer: scores, intervals and rank ranges of a log's items."""
