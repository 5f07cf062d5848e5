"""Interactive waterfalls, as the report and `coldload show` have them: their data, script, style and controls."""
