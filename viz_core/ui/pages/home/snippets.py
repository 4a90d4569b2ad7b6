"""Python snippets that reproduce the figures of this page, filled in with their arguments."""

from collections.abc import Sequence

from viz_core.analysis.attention import AttentionKind
from viz_core.ui.shell import PageContext
from viz_core.ui.shell.export.notebook_code import CodeLines, fill_template, glosses_code, run_code, token_name_code


def word_lines(context: PageContext, kind: AttentionKind, layer: int, head: int, item: int) -> CodeLines:
    """Return the code for the attention weights drawn as lines between words."""
    return fill_template("""
        from viz_core.analysis.labelled_weights import unpadded_layer_weights
        {run}

        kind, layer, heads, item = {kind}, {layer}, {heads}, {item}
        weights, queries, keys = unpadded_layer_weights(capture, kind, layer, item)
        """, run=run_code(context), kind=kind, layer=layer, heads=[head], item=item)


def token_ids(context: PageContext, names: Sequence[str], item: int) -> CodeLines:
    """Return the code for the ids of the tokens."""
    return fill_template("""
        from viz_core.figures.stage_panels import stage_panel
        {run}
        panels = [stage_panel(capture, name, {item}) for name in {names}]
        """, run=run_code(context), names=list(names), item=item)


def next_word(context: PageContext, item: int, at: int) -> CodeLines:
    """Return the code for the most likely next words after a token."""
    side = context.config.output_side
    return fill_template("""
        {run}
        {word}
        from viz_core.figures import plot_data
        from viz_core.analysis.summary import top_predictions
        from viz_core.figures.predictions import next_words_html
        found, after = top_predictions(capture, {item})[{at}], capture.tokens({side})[{item}]
        words = [word(id) for id in found.ids]
        frame = plot_data.next_token_predictions(found, words)
        shown = next_words_html(found, words, config.output_vocab_size, after[found.position]{glosses}{in_place})
        """, run=run_code(context), word=token_name_code(context, side, item), item=item, at=at, side=side, glosses=glosses_code(),
        in_place=CodeLines(", at_same_position=True" if context.answers_in_place else ""))


def architecture(context: PageContext) -> CodeLines:
    """Return the code for the drawing of the model with the shapes of the run."""
    return fill_template("""
        from viz_core.figures.architecture import architecture_diagram
        {run}
        drawing = architecture_diagram([capture.stage(name) for name in capture])
        """, run=run_code(context))
