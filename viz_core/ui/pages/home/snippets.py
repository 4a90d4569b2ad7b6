"""Python snippets that reproduce the figures of this page, filled in with their arguments."""

from collections.abc import Sequence

from viz_core.analysis.attention import AttentionKind
from viz_core.ui.shell import Lab
from viz_core.ui.shell.code import Source, code, glosses_code, run_code, word_code


def words(lab: Lab, kind: AttentionKind, layer: int, head: int, item: int) -> Source:
    """The attention weights drawn as lines between words."""
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


def next_word(lab: Lab, item: int, at: int) -> Source:
    """The most likely next words after a token."""
    side = lab.config.output_side
    return code("""
        {run}
        {word}
        from viz_core import drawn
        from viz_core.analysis.summary import predictions
        from viz_core.figures.predictions import next_words
        found, after = predictions(capture, {item})[{at}], capture.tokens({side})[{item}]
        words = [word(id) for id in found.ids]
        frame = drawn.next_words(found, words)
        shown = next_words(found, words, config.output_vocab_size, after[found.position]{glosses}{in_place})
        """, run=run_code(lab), word=word_code(lab, side, item), item=item, at=at, side=side, glosses=glosses_code(),
        in_place=Source(", in_place=True" if lab.in_place else ""))


def architecture(lab: Lab) -> Source:
    """The model with the shapes of the run."""
    return code("""
        from viz_core.figures.architecture import architecture
        {run}
        drawing = architecture([capture.stage(name) for name in capture])
        """, run=run_code(lab))
