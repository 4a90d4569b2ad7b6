"""Notebook code for the figures of this page, with the values that they are drawn with. They need no run."""

from typing import Literal

from viz_core.analysis.shapes import Amount
from viz_core.ui.pages.shapes.columns import AMOUNTS
from viz_core.ui.pages.shapes.size import Size
from viz_core.ui.shell import Lab
from viz_core.ui.shell.code import Source, code, config_code, settings_code
from viz_core.weights.catalogue import lasting


def blocks(lab: Lab, size: Size, amount: Amount, heading: str) -> Source:
    __, batch, source, target = size
    return code("""
        {config}
        from viz_core.analysis.shapes import by_block, ledger
        from viz_core.figures.shapes import block_chart
        lines = ledger(config, {batch}, {source}, {target})
        picture = block_chart(by_block(lines, {amount}), {heading}, {unit})
        """, config=_config(lab), batch=batch, source=source, target=target, amount=amount, heading=heading, unit=AMOUNTS[amount])


def growth(lab: Lab, amount: Literal["flops", "nbytes"], heading: str, here: int | None) -> Source:
    return code("""
        {config}
        from viz_core.analysis.shapes import LENGTHS, growth
        from viz_core.figures.shapes import growth_chart
        picture = growth_chart(growth(config, LENGTHS, {amount}), {heading}, {unit}, {here})
        """, config=_config(lab), amount=amount, heading=heading, unit=AMOUNTS[amount], here=here)


def _config(lab: Lab) -> Source:
    """Return the code that makes `config`: field by field for weights that only this server has, which a notebook cannot load."""
    if lab.setup.origin is None or lab.setup.checkpoint in lasting():
        return config_code(lab.setup)
    return code("""
        from viz_core.config import TransformerConfig
        config = {config}
        """, config=settings_code(lab.config))
