"""Packs: a run as one file, from which another machine can report it and run its study again."""
