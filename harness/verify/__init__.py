"""Whether an archive is replayed as it was recorded, and a variant is like its original."""
