"""Production web servers that serve a materialised site, one module each; `server` holds what they share."""
