"""The filters, by family. Each is a pure function from a page and the settings to a page and notes."""
