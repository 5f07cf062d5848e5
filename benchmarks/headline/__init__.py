"""The headline: coldload beside other tools, by turns on one machine, as one JSON file and a page made of it."""
