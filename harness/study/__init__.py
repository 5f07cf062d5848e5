"""What is to be measured: a study read from its file, what servers can do of it, and the plan of its trials."""
