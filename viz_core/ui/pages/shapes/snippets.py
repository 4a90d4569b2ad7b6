"""Notebook code for the figures of this page, with the values that they are drawn with. They need no run."""

from typing import Literal

from viz_core.analysis.stage_costs import Amount
from viz_core.ui.pages.shapes.columns import AMOUNT_TITLES
from viz_core.ui.pages.shapes.size import RunSize
from viz_core.ui.shell import PageContext
from viz_core.ui.shell.export.notebook_code import CodeLines, config_code, fill_template, settings_code
from viz_core.weights.catalogue import server_models


def blocks(context: PageContext, size: RunSize, amount: Amount, heading: str) -> CodeLines:
    __, batch, source, target = size
    return fill_template(
        """
        {config}
        from viz_core.analysis.stage_costs import amounts_by_block, stage_costs
        from viz_core.figures.shapes import block_cost_figure
        lines = stage_costs(config, {batch}, {source}, {target})
        picture = block_cost_figure(amounts_by_block(lines, {amount}), {heading}, {unit})
        """,
        config=_config_code(context),
        batch=batch,
        source=source,
        target=target,
        amount=amount,
        heading=heading,
        unit=AMOUNT_TITLES[amount],
    )


def growth(context: PageContext, amount: Literal["flops", "nbytes"], heading: str, here: int | None) -> CodeLines:
    return fill_template("""
        {config}
        from viz_core.analysis.stage_costs import TOKEN_COUNTS, cost_growth
        from viz_core.figures.shapes import cost_growth_figure
        picture = cost_growth_figure(cost_growth(config, TOKEN_COUNTS, {amount}), {heading}, {unit}, {here})
        """, config=_config_code(context), amount=amount, heading=heading, unit=AMOUNT_TITLES[amount], here=here)


def _config_code(context: PageContext) -> CodeLines:
    """Return the code that makes `config`: field by field for weights that only this server has, which a notebook cannot load."""
    if context.setup.checkpoint_card is None or context.setup.checkpoint in server_models():
        return config_code(context.setup)
    return fill_template("""
        from viz_core.config import TransformerConfig
        config = {config}
        """, config=settings_code(context.config))
