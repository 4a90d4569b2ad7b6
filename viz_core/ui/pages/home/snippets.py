"""The Python of this page's pictures, filled with the values with which they are drawn."""

from collections.abc import Sequence

from viz_core.analysis.attention import AttentionKind
from viz_core.ui.shell import Lab
from viz_core.ui.shell.code import Source, code, run_code


def words(lab: Lab, kind: AttentionKind, layer: int, head: int, item: int) -> Source:
    """The lines between the words."""
    return code("""
        from viz_core.analysis.labelled_weights import weights_read
        {run}

        kind, layer, heads, item = {kind}, {layer}, {heads}, {item}
        weights, queries, keys = weights_read(capture, kind, layer, item)
        """, run=run_code(lab), kind=kind, layer=layer, heads=[head], item=item)


def ids(lab: Lab, names: Sequence[str], item: int) -> Source:
    """The ids of the tokens."""
    return code("""
        from viz_core.figures.steps import stage_panel
        {run}
        panels = [stage_panel(capture, name, {item}) for name in {names}]
        """, run=run_code(lab), names=list(names), item=item)


def architecture(lab: Lab) -> Source:
    """The model with the shapes of the run."""
    return code("""
        from viz_core.figures.architecture import architecture
        {run}
        drawing = architecture([capture.stage(name) for name in capture])
        """, run=run_code(lab))
