"""Today's WebKit as GTK has it, by its own process and its Inspector's protocol.

`program` runs in Debian's Python; the rest is our side of it.
"""
