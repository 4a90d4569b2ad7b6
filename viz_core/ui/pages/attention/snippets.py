"""Python snippets that reproduce the figures of this page, filled in with their arguments."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from viz_core.analysis.attention import AttentionKind, kinds, sides
from viz_core.ui.pages.attention.focus import InFocus, kept_shown
from viz_core.ui.shell import Lab, TwoRuns
from viz_core.ui.shell.code import Source, both_code, code, glosses_code, model_code, run_code, traced_code, word_code, written_out

if TYPE_CHECKING:
    from viz_core.experiments.ablation import Ablation

NONE = Source()


# ---------------------------------------------------------------- one run


def heads(lab: Lab, shown: Sequence[AttentionKind], focus: InFocus, two: TwoRuns | None) -> Source:
    """All heads as tiles; in a comparison, of A, B or A − B."""
    if two is not None:
        return _heads_of_two(two, shown, focus)
    words = code("""
        {readers}
        words = {{kind: words_of_both(capture, kind, item, readers) for kind in kinds}}
        """, readers=_readers(lab, "capture")) if focus.by_word else NONE
    kept = code("""
        from viz_core.analysis.labelled_weights import without_special
        {readers}
        kept = {{kind: without_special(capture, kind, item, readers{own}) for kind in kinds}}
        """, readers=NONE if focus.by_word else _readers(lab, "capture"),
                own=Source(", words[kind]" if focus.by_word else "")) if focus.without_special else NONE
    return code("""
        from viz_core import drawn
        from viz_core.analysis.labelled_weights import every_head
        from viz_core.figures.attention import head_grid
        {run}

        {own_kinds}
        grids = [head_grid(capture, kind, item, {colour}{own}{kept}) for kind in kinds]
        frame = drawn.heads(every_head(capture, kind, item{own}{uniform}) for kind in kinds)
        """, run=run_code(lab), kept=Source(", kept=kept[kind]" if focus.without_special else ""),
                own_kinds=_lines(code("kinds, item = {kinds}, {item}", kinds=list(shown), item=focus.item), words, kept),
                colour=focus.colour, own=Source(", words[kind]" if focus.by_word else ""),
                uniform=Source(", uniform=True" if focus.colour == "uniform" else ""))


def matrix(lab: Lab, focus: InFocus) -> Source:
    """One head at one step from q·k to the weights."""
    by_word, leaves_out = focus.by_word and focus.step == "weights", focus.without_special and focus.step == "weights"
    return code("""
        from viz_core.figures.attention import head_panel
        {run}

        {head}
        panels = [head_panel(capture, kind, layer, head, item, {step}, {colour}{own}{kept})]
        """, run=run_code(lab), step=focus.step, colour=focus.colour, own=Source(", words" if by_word else ""),
                head=_lines(_head(focus), _words(lab) if by_word else NONE, _kept(lab, by_word) if leaves_out else NONE),
                kept=Source(", kept=kept" if leaves_out else ""))


def lines(lab: Lab, focus: InFocus) -> Source:
    """The heads of a layer as lines."""
    leaves_out = kept_shown(lab, lab.capture, focus.kind, focus) is not None if lab.capture is not None else False
    layer = code("kind, layer, heads, item = {kind}, {layer}, {heads}, {item}", kind=focus.kind, layer=focus.layer,
                 heads=list(focus.overlaid), item=focus.item)
    return code("""
        from viz_core.analysis.labelled_weights import layer_weights
        {run}

        {layer}
        {found} = layer_weights(capture, kind, layer, item{own})
        {kept}
        """, run=run_code(lab), own=Source(", words" if focus.by_word else ""),
                layer=_lines(layer, _words(lab) if focus.by_word else NONE, _kept(lab, focus.by_word) if leaves_out else NONE),
                found=Source("found" if leaves_out else "weights, queries, keys"), kept=code("""
        from viz_core.analysis.labelled_weights import kept_weights
        (weights, queries, keys), kept = kept_weights(found, kept)
        """) if leaves_out else NONE)


def profiles(lab: Lab, shown: Sequence[AttentionKind], item: int) -> Source:
    """The statistics of every head."""
    return code("""
        from viz_core import tables
        {run}
        frame = tables.heads(capture, {kind}, {item})
        """, run=run_code(lab), kind=shown[0] if len(shown) == 1 else None, item=item)


def rollout(lab: Lab, kind: AttentionKind, item: int, after: int, two: TwoRuns | None) -> Source:
    """Rollout after a layer, and the mean of its heads; in a comparison, of A, B or A − B."""
    if two is None:
        return code("""
            from viz_core.figures.attention import rollout_panels
            {run}
            panels = rollout_panels(capture, {kind}, {item}, {after})
            """, run=run_code(lab), kind=kind, item=item, after=after)
    return code("""
        from viz_core.figures.attention import rollout_panels
        from viz_core.figures.two_runs import chosen
        {runs}
        places = both.places[{side}]
        of_a, of_b = (rollout_panels(run, {kind}, {item}, {after}) for run in (a, b))
        panels = [chosen(one, other, places, places, {shown}) for one, other in zip(of_a, of_b)]
        """, runs=both_code(two), kind=kind, item=item, after=after, side=sides(kind)[0], shown=two.shown)


def _head(focus: InFocus) -> Source:
    """The line that assigns `kind, layer, head, item`."""
    return code("kind, layer, head, item = {kind}, {layer}, {head}, {item}", kind=focus.kind, layer=focus.layer, head=focus.head,
                item=focus.item)


def _lines(*parts: Source) -> Source:
    """The parts joined by newlines, without empty ones."""
    return Source("\n".join(filter(None, (part.strip("\n") for part in parts))))


def _words(lab: Lab) -> Source:
    """The lines that assign `words`, for the `kind` and `item` of the lines above."""
    return code("""
        {readers}
        words = words_of_both(capture, kind, item, readers)
        """, readers=_readers(lab, "capture"))


def _kept(lab: Lab, by_word: bool) -> Source:
    """The lines that assign `kept`, for the `kind` and `item` of the lines above, and for `words` if they are shown."""
    return code("""
        from viz_core.analysis.labelled_weights import without_special
        {readers}
        kept = without_special(capture, kind, item, readers{own})
        """, readers=NONE if by_word else _readers(lab, "capture"), own=Source(", words" if by_word else ""))


def _readers(lab: Lab, run: str) -> Source:
    """The lines that assign `readers`, the tokenizer of each side. run: the name of the run's variable."""
    setup = lab.setup
    if setup.origin is not None:
        return code("""
            from viz_core.analysis.labelled_weights import words_of_both
            from viz_core.weights.catalogue import catalogue
            readers = catalogue()[{name}].tokenizers()
            """, name=setup.checkpoint)
    return code("""
        from viz_core.analysis.labelled_weights import words_of_both
        from viz_core.run import tokenizers
        readers = tokenizers({run}.config, {kind})
        """, run=Source(run), kind="word" if setup.tokenizer == "ids" else setup.tokenizer)


# ---------------------------------------------------------------- one weight


def products(lab: Lab, focus: InFocus) -> Source:
    """The products of q and k, feature by feature."""
    return code("""
        {steps}
        from viz_core import drawn
        from viz_core.figures.attention import product_bars
        frame, shown = drawn.features(steps.products), product_bars(steps)
        """, steps=_steps(run_code(lab), focus))


def way(lab: Lab, focus: InFocus) -> Source:
    """The steps from the sum of the products to the weight."""
    return code("""
        {steps}
        from viz_core import drawn
        from viz_core.figures.attention import chain_html
        frame, shown = drawn.chain(steps), chain_html(steps)
        """, steps=_steps(run_code(lab), focus))


def values(lab: Lab, focus: InFocus) -> Source:
    """Weight times value, feature by feature."""
    return code("""
        {steps}
        from viz_core import drawn
        from viz_core.figures.attention import value_bars, weighted
        v = capture[{v}][item, head, key]
        frame, shown = drawn.features(weighted(v, steps.recorded)), value_bars(v, steps.recorded)
        """, steps=_steps(run_code(lab), focus), v=f"{focus.path}.v")


def contributed(lab: Lab, focus: InFocus) -> Source:
    """Each key's weight, and the norm of its contribution to the output."""
    return code("""
        {run}
        from viz_core import drawn
        from viz_core.analysis.attention import contribution_norms, head_columns
        from viz_core.figures.attention import contribution_bars
        from viz_core.run import parameters
        head, item, query, key = {head}, {item}, {query}, {key}
        v, w_o = capture[{v}][item, head], parameters(model)({w_o})
        row, keys = capture[{weights}][item, head, query], capture.tokens({side})[item]
        lengths = contribution_norms(row[None], v, head_columns(w_o, head, v.shape[-1]))[0]
        frame, shown = drawn.contributions(keys, row, lengths), contribution_bars(keys, row, lengths, key{glosses})
        """, run=traced_code(lab), head=focus.head, item=focus.item, query=focus.query, key=focus.key, v=f"{focus.path}.v",
                w_o=f"{focus.path}.w_o.weight", weights=f"{focus.path}.weights", side=sides(focus.kind)[1], glosses=glosses_code())


def _steps(run: Source, focus: InFocus) -> Source:
    """The lines that assign `steps`, the computation of the weight in focus."""
    return code("""
        {run}
        from viz_core.analysis.attention import chain
        {head}
        query, key = {query}, {key}
        steps = chain(capture, kind, layer, head, item, query, key)
        """, run=run, head=_head(focus), query=focus.query, key=focus.key)


# ---------------------------------------------------------------- ablation


def ablated(lab: Lab, change: "Ablation", focus: InFocus) -> Source:
    """A head in the intact run and, if anything is changed, in the ablated run."""
    return code("""
        from viz_core.figures.two_attentions import ablated_head
        {runs}
        panels = ablated_head(capture, {ablated}, {kind}, {layer}, {head}, {item}, {colour})
        """, runs=run_code(lab) if change.nothing else _ablated(lab, change),
                ablated=None if change.nothing else Source("ablated"), kind=focus.kind, layer=focus.layer, head=focus.head,
                item=focus.item, colour=focus.colour)


def ablated_hidden(lab: Lab, change: "Ablation", item: int) -> Source:
    """The change of the last hidden states."""
    return code("""
        from viz_core.figures.two_attentions import ablated_hidden
        {runs}
        panels = [ablated_hidden(capture, ablated, {item})]
        """, runs=_ablated(lab, change), item=item)


def changes(lab: Lab, change: "Ablation", item: int) -> Source:
    """The table of what changed at each token."""
    return code("""
        {runs}
        {word}
        from viz_core import tables
        frame = tables.ablation(capture, ablated, {item}, word)
        """, runs=_ablated(lab, change), word=word_code(lab, lab.config.output_side, item), item=item)


def _ablated(lab: Lab, change: "Ablation") -> Source:
    """The lines that assign `capture` and `ablated`."""
    given = [f"off=frozenset({written_out(sorted(change.off))})"] if change.off else []
    given += ["unscaled=True"] if change.unscaled else []
    given += [f"temperature={written_out(change.temperature)}"] if change.temperature != 1 else []
    return code("""
        from viz_core.experiments.ablation import Ablation, ablated_run
        from viz_core.run import trace
        {model}
        capture = trace(model, batch, seed={seed})
        ablated = ablated_run(model, batch, Ablation({given}), seed={seed})
        """, model=model_code(lab), seed=lab.setup.seed, given=Source(", ".join(given)))


# ---------------------------------------------------------------- two runs


def matrix_of_two(two: TwoRuns, focus: InFocus, about: tuple[str, str], alone: bool) -> Source:
    """One head in A, in B and in A − B. alone: whether only one of these is shown."""
    by_word = focus.by_word and focus.step == "weights"
    drawn = code("""
        from viz_core.figures.two_runs import only
        panels = [only(panels, {shown})]
        """, shown=two.shown)
    return code("""
        from viz_core.figures.two_attentions import head_of_two
        {runs}

        {head}
        panels = head_of_two(both, kind, layer, head, {step}, {colour}, {about}{own})
        {drawn}
        """, runs=both_code(two), head=_lines(_head(focus), _words_of_two(two, [focus.kind]) if by_word else NONE), step=focus.step,
                colour=focus.colour, about=about, own=Source(", words[kind]" if by_word else ""), drawn=drawn if alone else NONE)


def _heads_of_two(two: TwoRuns, shown: Sequence[AttentionKind], focus: InFocus) -> Source:
    own_kinds = code("kinds, item = {kinds}, {item}", kinds=list(shown), item=focus.item)
    return code("""
        from viz_core import drawn
        from viz_core.figures.two_attentions import grid_of_two, weights_of_two
        {runs}

        {own_kinds}
        grids = [grid_of_two(both, kind, {shown}, {colour}{own}) for kind in kinds]
        frame = drawn.heads(weights_of_two(both, kind, {shown}, {colour}{own}) for kind in kinds)
        """, runs=both_code(two), own_kinds=_lines(own_kinds, _words_of_two(two, shown) if focus.by_word else NONE),
                shown=two.shown, colour=focus.colour, own=Source(", words[kind]" if focus.by_word else ""))


def _words_of_two(two: TwoRuns, shown: Sequence[AttentionKind]) -> Source:
    """The lines that assign `words`, a pair for A and B by kind of attention, for the `item` of the lines above; A may lack some
    kinds."""
    return code("""
        {readers_of_a}
        words_of_a = {{kind: words_of_both(a, kind, item, readers) for kind in {in_a}}}
        {readers_of_b}
        words_of_b = {{kind: words_of_both(b, kind, item, readers) for kind in {in_b}}}
        words = {{kind: (words_of_a.get(kind), words_of_b[kind]) for kind in words_of_b}}
        """, readers_of_a=_readers(two.a, "a"), readers_of_b=_readers(two.b, "b"),
                in_a=[kind for kind in shown if kind in kinds(two.both.a.config)], in_b=list(shown))
