"""Pictures for papers: width, font and titles, without a browser."""

from __future__ import annotations

import pytest

from shoal.errors import BadInput, ShoalError
from shoal.report.export import HALF, HEAD, Look, chosen, pixels, printed
from shoal.report.figure import Figure, axis, line


@pytest.fixture
def figure() -> Figure:
    curves = [line([1, 2], [3, 4], name, "@g0", width=2) for name in ("fedavg", "ifca", "a setting with a long name")]
    return Figure("accuracy", "Accuracy", "", ("x",), [], curves, {"xaxis": axis("round"), "yaxis": axis("accuracy")})


def test_without_a_word_a_picture_is_as_on_the_page_with_its_title(figure: Figure) -> None:
    layout = printed(figure)["layout"]
    assert (layout["width"], layout["height"]) == (HALF, 340 + HEAD)
    assert layout["title"]["text"] == "Accuracy"
    assert layout["font"]["size"] == 12  # 9 points
    assert "orientation" not in layout["legend"]


def test_width_font_and_title_are_as_asked(figure: Figure) -> None:
    """85 mm are 321 pixels, half of the usual 640: so is the height, 171, but at least 0.6 of the width, 193."""
    spec = printed(figure, Look(pixels("85mm"), "Times New Roman", 8, ""))
    layout = spec["layout"]
    assert layout["width"] == 321
    assert "title" not in layout
    assert (layout["font"]["family"], layout["font"]["size"]) == ("Times New Roman", 10.67)  # 8 / 72 of 96 pixels
    assert layout["xaxis"]["title"]["font"]["family"] == "Times New Roman"
    assert layout["legend"]["orientation"] == "h"
    grown = layout["height"] - 193
    assert grown > 0 and layout["margin"]["t"] == 12 + grown  # room for the legend above
    assert spec["data"][0]["line"]["width"] == 1.5  # 1.5 times half of 2
    assert printed(figure, Look(title="Ours"))["layout"]["title"]["text"] == "Ours"


@pytest.mark.parametrize(
    ("text", "want"), [("85mm", 321), ("8.5 cm", 321), ("3.5in", 336), ("252pt", 336), ("640", 640)]
)
def test_widths_are_read(text: str, want: int) -> None:
    assert pixels(text) == want


@pytest.mark.parametrize("text", ["wide", "-5mm", "3mm", "99999", "12 parsec"])
def test_widths_that_make_no_sense_are_a_sentence(text: str) -> None:
    with pytest.raises(BadInput, match="is not possible: give 85mm"):
        pixels(text)


def test_figures_are_chosen_by_their_keys(figure: Figure) -> None:
    assert chosen([figure], ["accuracy"]) == [figure]
    with pytest.raises(ShoalError, match="unknown figure 'acuracy'; did you mean 'accuracy'"):
        chosen([figure], ["acuracy"])
