"""Limits of filters: each has one name, bounds and a default, and is written as it is read."""

from __future__ import annotations

import dataclasses

import pytest

from harness.errors import StudyError
from harness.model.filtersettings import DEFAULTS, SETTINGS, FilterSettings, settings_in, settings_of, text_of
from harness.model.variant import FILTERS, parse_variant


def test_every_limit_has_a_name_and_every_name_is_one_of_a_filter() -> None:
    assert {each.attribute for each in SETTINGS.values()} == {
        each.name for each in dataclasses.fields(FilterSettings)
    }
    assert len({each.attribute for each in SETTINGS.values()}) == len(SETTINGS)
    for name, setting in SETTINGS.items():
        assert setting.least <= setting.usual <= setting.most
        assert set(setting.filters) <= set(FILTERS)
        assert name.partition(".")[0] in (*setting.filters, "images")


@pytest.mark.parametrize("name", SETTINGS)
def test_a_limit_is_read_as_it_is_written(name: str) -> None:
    setting = SETTINGS[name]
    for value in (setting.least, setting.most):
        changed = settings_of(f"{name}={value}")
        assert settings_of(text_of(changed)) == changed if changed else value == setting.usual
        assert getattr(FilterSettings.of(changed), setting.attribute) == value
        group, key = name.split(".")
        assert settings_in({group: {key: value}}) == changed
        for spelled in (setting.option, setting.option.lower(), f"ModPagespeed{setting.option}"):
            assert not setting.option or settings_of(f"{spelled} = {value}") == changed
    assert settings_of(f"{name}={setting.usual}") == ()
    assert FilterSettings.of(()) == DEFAULTS


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "'' is no setting of a filter; write NAME=NUMBER"),
        ("inline_css.max_bytes", "is no setting of a filter; write NAME=NUMBER"),
        ("inline_css.max_bytes=", "write NAME=NUMBER"),
        ("=4096", "write NAME=NUMBER"),
        ("inline_css.max_bytes=4096,", "write NAME=NUMBER"),
        ("inline_css.max_bytes=4k", "inline_css.max_bytes must be a whole number, found '4k'"),
        ("inline_css.max_bytes=1e99", "must be a whole number, found '1e99'"),
        ("inline_css.max_bytes=0", "inline_css.max_bytes is 0; it must be 1 to 100000000"),
        ("inline_css.max_bytes=-1", "inline_css.max_bytes is -1"),
        ("inline_css.max_bytes=" + "9" * 5000, "inline_css.max_bytes"),
        ("CssInlineMaxByte=1", "(did you mean CssInlineMaxBytes?)"),
        ("inline_cs.max_bytes=1", "(did you mean inline_css.max_bytes?)"),
        ("shard.hosts=3,shard.hosts=4", "shard.hosts is set twice"),
        ("CssInlineMaxBytes=3,inline_css.max_bytes=4", "inline_css.max_bytes is set twice"),
    ],
)
def test_what_is_no_limit_is_one_line(text: str, says: str) -> None:
    with pytest.raises(StudyError) as error:
        settings_of(text)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 800


def test_a_variant_has_the_limits_of_its_filters_alone() -> None:
    settings = settings_of("inline_css.max_bytes=1,recompress_jpeg.quality=50,images.webp_effort=6")
    assert parse_variant("plain").with_settings(settings).settings == ()
    assert parse_variant("minify").with_settings(settings) == parse_variant("minify")
    assert text_of(parse_variant("inline").with_settings(settings).settings) == "inline_css.max_bytes=1"
    assert (
        text_of(parse_variant("resize_images").with_settings(settings).settings)
        == "recompress_jpeg.quality=50"
    )
    core = parse_variant("core").with_settings(settings)
    assert core.leaving_out(["inline_css"]).settings == tuple(
        each for each in core.settings if "inline" not in each[0]
    )
    assert str(core.leaving_out(["inline_css"])).startswith(
        "core without inline_css with images.webp_effort=6,"
    )
