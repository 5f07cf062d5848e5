"""Images keep their pixels, or their look; what cannot be handled is left alone with its reason."""

from __future__ import annotations

from io import BytesIO

import pytest
from PIL import Image, ImageChops

from harness.model.filtersettings import DEFAULTS, FilterSettings
from sites.optimise import picture
from sites.optimise.derive import optimise
from sites.optimise.page import LeftAlone, Page
from tests.facts import tells
from tests.unit.sites.optimise.pages import START, page, photo


def opened(data: bytes) -> Image.Image:
    return Image.open(BytesIO(data))


def same_pixels(one: bytes, other: bytes) -> bool:
    first, second = opened(one).convert("RGBA"), opened(other).convert("RGBA")
    return ImageChops.difference(first, second).getbbox(alpha_only=False) is None


def applied(
    names: str, html: str, settings: FilterSettings = DEFAULTS, **files: bytes | str
) -> tuple[Page, list[str]]:
    made = page(html, {name.replace("_", "."): data for name, data in files.items()})
    result, report = optimise(made, names.split(), settings)
    return result, [note.reason for step in report.steps for note in step.notes]


def body(made: Page, name: str) -> bytes:
    return made.resources[START + name].body


def test_lossless_filters_keep_every_pixel_and_the_size_goes_down() -> None:
    noisy = Image.effect_noise((200, 150), 40).convert("RGB")
    file = BytesIO()
    noisy.save(file, "JPEG", quality=92, comment=b"x" * 500)
    jpeg, png = file.getvalue(), photo("PNG", (200, 150), compress_level=1)
    names = "strip_image_meta_data recompress_png convert_jpeg_to_progressive"
    made, reasons = applied(names, "<p>", a_jpg=jpeg, b_png=png)
    for name, before in (("a.jpg", jpeg), ("b.png", png)):
        assert same_pixels(body(made, name), before)
        assert len(body(made, name)) < len(before)
    assert opened(body(made, "a.jpg")).info.get("progressive")
    (reason,) = reasons
    assert "not become smaller" in reason  # the PNG held no metadata


def test_quality_is_told_and_only_lowered() -> None:
    for quality in (30, 60, 85, 92, 100):
        assert picture.quality_of(opened(photo(quality=quality))) == pytest.approx(quality, abs=1)
    with pytest.raises(LeftAlone, match="not above 85"):
        picture.jpeg(photo(quality=80), 85)
    assert picture.quality_of(opened(picture.jpeg(photo(quality=95), 85))) == 85


def test_lossy_forms_are_made_from_the_original() -> None:
    noisy = BytesIO()
    Image.effect_noise((120, 90), 60).convert("RGB").save(noisy, "JPEG", quality=95)
    alone, _ = applied("convert_jpeg_to_webp", "<p>", a_jpg=noisy.getvalue())
    after, _ = applied("recompress_jpeg convert_jpeg_to_webp", "<p>", a_jpg=noisy.getvalue())
    assert after.resources[START + "a.jpg"].mime == "image/webp"
    assert body(after, "a.jpg") == body(alone, "a.jpg")
    whole, _ = applied(
        "recompress_jpeg convert_jpeg_to_progressive convert_jpeg_to_webp", "<p>", a_jpg=noisy.getvalue()
    )
    assert body(whole, "a.jpg") == body(alone, "a.jpg")
    avif, _ = applied("recompress_jpeg convert_jpeg_to_webp convert_to_avif", "<p>", a_jpg=noisy.getvalue())
    assert opened(body(avif, "a.jpg")).format == "AVIF"


def test_png_becomes_lossless_webp() -> None:
    palette = BytesIO()
    Image.effect_noise((90, 90), 50).convert("P").save(palette, "PNG")
    made, _ = applied("convert_png_to_webp", "<p>", a_png=palette.getvalue())
    assert opened(body(made, "a.png")).format == "WEBP"
    assert same_pixels(body(made, "a.png"), palette.getvalue())


def test_what_cannot_be_handled_is_left_alone() -> None:
    animated = BytesIO()
    frames = [Image.new("RGB", (9, 9), colour) for colour in ("red", "blue")]
    frames[0].save(animated, "PNG", save_all=True, append_images=frames[1:])
    turned = Image.Exif()
    turned[0x0112] = 6
    files: dict[str, bytes | str] = {
        "a_png": animated.getvalue(),
        "b_png": b"\x89PNG\r\n\x1a\nnonsense",
        "c_jpg": photo(size=(300, 300))[:900],
        "d_jpg": photo(quality=95, exif=turned),
        "e_jpg": "no image at all",
        "f_png": photo("PNG", (400, 400)),
    }
    everything = (
        "strip_image_meta_data recompress_jpeg recompress_png convert_jpeg_to_webp convert_png_to_webp"
    )
    made, reasons = applied(everything, "<p>", FilterSettings(image_resolution_limit_bytes=500_000), **files)
    for name in ("a.png", "b.png", "c.jpg", "f.png"):
        assert (
            body(made, name)
            == page("<p>", {name: files[name.replace(".", "_")]}).resources[START + name].body
        )
    bomb = BytesIO()
    Image.new("1", (15_000, 15_000)).save(bomb, "PNG")
    (reason,) = applied("recompress_png", "<p>", a_png=bomb.getvalue())[1]
    assert "too many pixels" in reason
    for reason in ("animated", "cannot be read", "cut short", "orientation", "too many pixels"):
        assert any(reason in each for each in reasons), reason
    assert opened(body(made, "d.jpg")).getexif()[0x0112] == 6


def test_an_image_shrinks_to_what_is_displayed() -> None:
    html = (
        '<img src="a.png" width="45" height="30"><img src="a.png" width=60 height=40><img src="b.png" width="50%">'
        '<img src="c.png" width=9 height=6><a href="c.png">large</a><img src="d.png" width=900 height=600>'
    )
    large = photo("PNG", (300, 200))
    made, reasons = applied(
        "resize_images", html, a_png=large, b_png=large, c_png=large, d_png=large, e_css="x{y:url(e.png)}"
    )
    assert opened(body(made, "a.png")).size == (60, 40)
    assert all(body(made, name) == large for name in ("b.png", "c.png", "d.png"))
    assert len(reasons) == 3
    assert tells(reasons, "its own size or larger")
    assert tells(reasons, "beside images with a size", "refers to it")
    assert tells(reasons, "no size in pixels")


NO_RULE, BY_STYLE = "", "a style sheet may show it in another size"


@pytest.mark.parametrize(
    ("html", "css", "reason"),
    [
        ("<img {}>", "img{max-width:100%;border:0}.b{width:9px}#c img+p{height:9px}p img::after{width:1px}", NO_RULE),
        ("<img {}>", "@media print{.x,.y img{width:100%}}", BY_STYLE),
        ("<img {}>", "img:hover{transform:rotate(4deg) scale(1.5)}", BY_STYLE),
        ("<img {}>", ".y{transform:rotate(4deg)}", NO_RULE),
        ("<img {}>", "main{zoom:2}", NO_RULE),
        ("<main><p><img {}></main>", "main{zoom:2}", BY_STYLE),
        ("<p><b></b><img {}></p>", "b{zoom:2}", NO_RULE),
        ("<img {}>", ".y{color:red;&:hover{.z &{min-width:9em}}}", BY_STYLE),
        ("<img {}>", ".z{&:hover{min-width:9em}}", NO_RULE),
        ("<img {}>", "*{object-fit:none}", BY_STYLE),
        ("<img {} style='width:50%'>", "", BY_STYLE),
        ("<style>@layer a{@supports(a:b){:is(img){width:auto}}}</style><img {}>", "", BY_STYLE),
        ("<img {}>", "a{" * 100, BY_STYLE),
        ("<picture><source srcset=b.png><img {}></picture>", "", "the browser chooses among several images"),
        ("<img srcset='b.png 2x' {}>", "", "the browser chooses among several images"),
        ("<img {}><script>f(e.naturalWidth)</script>", "", "a script asks for the sizes of pictures, or draws them"),
    ],
)  # fmt: skip
def test_an_image_that_may_be_shown_in_another_size_is_left_alone(html: str, css: str, reason: str) -> None:
    shown = html.replace("{}", "class='a Y' src=a.png width=30 height=20")
    _, reasons = applied("resize_images", shown, a_png=photo("PNG", (300, 200)), a_css=css)
    assert reasons == [reason][: bool(reason)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("d.json", '{"large": "\\/a.png"}'),
        ("part.html", "<a href=a.png>large</a>"),
        ("i.svg", "<svg><image href='a.png'/></svg>"),
        ("f.xml", "<i>a.png</i>"),
        ("n.txt", "a.png"),
        ("s.css", "a{b:url(a.png)}"),
    ],
)
def test_an_image_that_any_text_of_the_page_names_is_left_alone(name: str, text: str) -> None:
    large = photo("PNG", (300, 200))
    shown = "<img src=a.png width=30 height=20>"
    made, reasons = applied("resize_images", shown, DEFAULTS, a_png=large, **{name.replace(".", "_"): text})
    assert body(made, "a.png") == large
    assert tells(reasons, "beside images with a size", "refers to it")


def test_a_frame_that_shows_an_image_in_a_size_is_no_other_text() -> None:
    html = "<img src=a.png width=30 height=20><iframe src=f.html></iframe>"
    frame = "<img src=a.png width=60 height=40>"
    made, reasons = applied("resize_images", html, a_png=photo("PNG", (300, 200)), f_html=frame)
    assert opened(body(made, "a.png")).size == (60, 40)
    assert reasons == []


def test_other_proportions_are_left_alone_and_automatic_ones_stay_exact() -> None:
    face = photo("PNG", (300, 201))
    html = "<img width=100 height=100 style='object-fit:cover' src=a.png>"
    (reason,) = applied("resize_images", html, a_png=face)[1]
    assert tells([reason], "width and height", "proportions")
    html = "<img width=30 height=20 src=a.png>"
    made, _ = applied("resize_images", html, a_png=face)
    assert opened(body(made, "a.png")).size == (30, 20)
    made, _ = applied("resize_images", html, a_png=face, a_css="img{max-width:100%;height:auto}")
    assert opened(body(made, "a.png")).size == (100, 67)


def test_the_same_image_gives_the_same_bytes() -> None:
    source = photo(size=(120, 80), quality=95)
    everything = "recompress_jpeg convert_jpeg_to_progressive convert_jpeg_to_webp convert_to_avif"
    bodies = {body(applied(everything, "<p>", a_jpg=source)[0], "a.jpg") for _ in range(3)}
    assert len(bodies) == 1


def test_images_go_by_the_names_that_servers_write() -> None:
    made = page("<p>", {"a.jpg": photo(size=(200, 150), quality=95)})
    named = made.resources[START + "a.jpg"].with_header("Content-Type", "image/jpg")
    result, _ = optimise(made.with_resources([named]), ["recompress_jpeg"])
    found = result.resources[START + "a.jpg"]
    assert (found.rewritten, found.header("Content-Type")) == (True, "image/jpeg")
