"""The emulated access link between two hosts, and probes that measure it."""
