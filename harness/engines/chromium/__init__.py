"""Chromium under control: one launch policy, a fresh profile per trial, two drivers, one NetLog."""
