"""Numbers as every page, picture and message writes them: one minus sign, one way to say NaN and infinity."""

import math
import re
import zlib


def minus(number: str) -> str:
    """The true minus sign instead of the hyphen: "-1.2e-5" -> "−1.2e−5"."""
    return number.replace("-", "−")


def special(x: float) -> str:
    """ "NaN", "∞" or "−∞"; "" for a finite number."""
    return "NaN" if math.isnan(x) else "" if math.isfinite(x) else "∞" if x > 0 else "−∞"


def rounded(x: float, digits: int = 5) -> str:
    """So many significant digits: 0.4312, −12.35, 1.23e−5."""
    return special(x) or minus(f"{x:.{digits}g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e"))


def brief(x: float) -> str:
    """Four digits, three of a small number, and whole numbers whole: 0.4312, −12.35, 0.00171, 1.23e−5, 128."""
    if special(x):
        return special(x)
    size = abs(x)
    if size < 1e6 and x == int(x):
        return minus(f"{int(x)}")
    if 1e-2 <= size < 1e5:
        return minus(f"{x:.{max(0, 4 - len(str(int(size)).lstrip('0')))}f}")
    digits, _, power = f"{x:#.3g}".partition("e")
    return minus(f"{float(digits):g}e{int(power)}" if power else digits)


def long(x: float) -> str:
    """Four significant digits, and a large number in full without a comma, which from the back row looks like a point."""
    return special(x) or (minus(f"{x:.0f}") if 1000 <= abs(x) < 1e7 else rounded(x, 4))


def percent(share: float) -> str:
    """Two decimals; a share that they would round to nothing, or to all, says on which side of it it lies."""
    if special(share):
        return special(share)
    if 0 < share < 0.00005:
        return "< 0.01%"
    return "> 99.99%" if 0.99995 <= share < 1 else minus(f"{share:.2%}")


def rounded_percent(share: float, digits: int = 0) -> str:
    """With so many decimals, also where they round it to nothing or to all: 70%, 100%."""
    return special(share) or minus(f"{share:.{digits}%}")


def change(share: float) -> str:
    """A relative change with its sign: +2.5%, −0.3%."""
    return special(share) or minus(f"{share:+.1%}")


def count(n: int, one: str, many: str) -> str:
    """A number of things, the noun in its whole form for one and for any other number: "1 token", "1,200 tokens"."""
    return f"{n:,} {one if n == 1 else many}"


def latex(x: float, digits: int = 5) -> str:
    """So many significant digits, as LaTeX writes them: 0.4312, 3.2\\cdot 10^{-5}, 10^{-5}, \\infty."""
    if special(x):
        return {"NaN": r"\text{NaN}", "∞": r"\infty", "−∞": r"-\infty"}[special(x)]
    shown = f"{x:.{max(digits, 10)}g}" if x == round(x) and abs(x) < 1e7 else f"{x:.{digits}g}"
    mantissa, _, exponent = shown.partition("e")
    if not exponent:
        return mantissa
    return (f"{mantissa}\\cdot " if mantissa not in ("1", "-1") else mantissa[:-1]) + f"10^{{{int(exponent)}}}"


def plain_name(*parts: str, most: int = 80) -> str:
    """The name of a file, without its ending: letters, digits and "-" of each part, "_" between them.

    ("attention", "Layer 1 · head 0") -> "attention_layer-1-head-0"
    """
    words = (re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in parts)
    return "_".join(word for word in words if word)[:most].rstrip("-_") or "picture"


def about(*parts: object) -> str:
    """Eight characters that change with what a picture is about. A number in a title or a name does not count, since a slider
    changes it: "9 of 16 dimensions" is about the same as "7 of 16 dimensions"."""
    return f"{zlib.crc32(re.sub(r'[0-9][0-9.,]*', '0', repr(parts)).encode('utf-8', 'surrogatepass')):08x}"
