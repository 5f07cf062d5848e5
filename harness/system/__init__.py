"""The operating system: processes, namespaces, signals, files."""
