"""Runs evaluated: what tables, figures and sentences are made from."""
