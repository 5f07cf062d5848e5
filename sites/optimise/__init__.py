"""Variants: archives derived from an archive by filters under mod_pagespeed's names.

`page` is what a filter works on, `filters` names them, `derive` makes and keeps the derived archives.
"""
