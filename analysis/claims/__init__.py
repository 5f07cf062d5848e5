"""What a study said beforehand, and what became of it."""
