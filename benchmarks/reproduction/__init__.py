"""The studies of 2008 to 2013 run again: their runs, the files that docs/reproduction.md quotes, and that document."""
