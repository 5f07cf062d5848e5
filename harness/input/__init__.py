"""What others wrote: TOML, JSON and their values, checked key by key."""
