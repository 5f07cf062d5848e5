"""Variants: archives derived from an archive by filters under mod_pagespeed's names.

`page` is what a filter works on, `registry` names the filters, `derive` makes and keeps the derived archives.
"""
