"""Tables, for the page and as files."""
