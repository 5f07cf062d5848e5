"""Documents from records: the studies of docs/reproduction.md and docs/results.md run again, and what they quote."""
