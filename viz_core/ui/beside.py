"""The styles and scripts of the components, which stand beside their modules."""

from pathlib import Path


def beside(name: str) -> str:
    """The text of a file in this folder."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
