"""The command line. Only this package prints or exits; each command is one module, `__main__` is the entry."""
