"""Archives of real pages, and what makes a production web server serve them again."""
