"""The command line. Only this package prints or exits; `__main__` is the entry, `commands` has the list."""
