"""Data that ships with coldload: links, studies and the templates of servers, read by importlib.resources."""
