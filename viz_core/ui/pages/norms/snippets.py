"""Notebook code for the figures of this page, with the values that they are drawn with."""

from collections.abc import Sequence

from viz_core.analysis.layernorm import Cell, Place
from viz_core.analysis.placement import Metric
from viz_core.config import Side
from viz_core.ui.pages.norms.compared import Compared
from viz_core.ui.shell import Lab
from viz_core.ui.shell.code import Source, code, model_code, run_code, traced_code

# ---------------------------------------------------------------- the compared stack


def _compared(c: Compared) -> Source:
    """Return the code that makes `model`, the untrained stack as Pre-LN, and `batch`, its input."""
    from viz_core.experiments.placement import config_depth

    return code("""
        {run}
        from viz_core.experiments.placement import comparable, reading
        from viz_core.run import build
        stack = comparable(config, depth={depth}, width={width}, init={init})
        model, batch = build(stack, {seed}, {device}), reading(capture)
        """, run=run_code(c.lab), depth=config_depth(c.config), width=c.config.d_model, init=c.config.init,
                seed=c.lab.setup.seed, device=c.lab.setup.device)


def depth(c: Compared, names: Sequence[str], metric: Metric) -> Source:
    return code("""
        {compared}
        from viz_core.analysis.placement import curves
        from viz_core.experiments.placement import placements
        from viz_core.figures.placement import depth_figure
        captures = placements(model, batch, {names}, {seed})
        picture = depth_figure({{name: curves(x, [{metric}])[{metric}] for name, x in captures.items()}}, {metric})
        """, compared=_compared(c), names=list(names), seed=c.lab.setup.seed, metric=metric)


def blocks(lit: str) -> Source:
    """Return the code for the drawing of both blocks."""
    return code("""
        from viz_core import drawn
        from viz_core.figures.block_drawing import blocks_html
        frame, shown = drawn.blocks({lit}), blocks_html({lit})
        """, lit=lit)


def ridges(c: Compared, names: Sequence[str], side: Side, leaf: str, scale: str) -> Source:
    return code("""
        {spreads}
        from viz_core.figures.distributions import ridges_figure
        from viz_core.figures.placement import COLOURS
        picture = ridges_figure(found, {{TITLES[name]: COLOURS[name] for name in captures}})
        """, spreads=_spreads(c, names, side, leaf, scale))


def widths(c: Compared, names: Sequence[str], side: Side, leaf: str, scale: str) -> Source:
    """Return the code for the table of the ridges."""
    return code("""
        {spreads}
        from viz_core import tables
        frame = tables.spread(found)
        """, spreads=_spreads(c, names, side, leaf, scale))


def _spreads(c: Compared, names: Sequence[str], side: Side, leaf: str, scale: str) -> Source:
    """Return the code that makes `captures`, the run of each placement, and `found`, their histograms."""
    return code("""
        {compared}
        from viz_core.analysis.layernorm import spreads
        from viz_core.experiments.placement import placements
        from viz_core.figures.placement import TITLES
        captures = placements(model, batch, {names}, {seed})
        found = spreads({{TITLES[name]: capture for name, capture in captures.items()}}, {side}, {leaf}, {scale})
        """, compared=_compared(c), names=list(names), seed=c.lab.setup.seed, side=side, leaf=leaf, scale=scale)


def gradients(c: Compared, batches: int) -> Source:
    return code("""
        {compared}
        from viz_core.experiments.placement import layer_gradients, placed, with_random_batches
        from viz_core.figures.placement import gradients_figure
        batches = with_random_batches(batch, stack, {batches}, {seed})
        found = {{name: layer_gradients(placed(model, name), batches) for name in ("post", "pre")}}
        parts = {{name: {{"attention": g.attention, "feed-forward": g.ffn}} for name, g in found.items()}}
        picture = gradients_figure(parts, {batches})
        """, compared=_compared(c), batches=batches, seed=c.lab.setup.seed)


# ---------------------------------------------------------------- the setting of the paper


def last_layer(width: int, batches: int, seed: int) -> Source:
    return code("""
        from viz_core.analysis.placement import laws
        from viz_core.experiments.placement import DEPTHS, last_layer_gradients
        from viz_core.figures.placement import last_layer_figure
        found = last_layer_gradients({width}, DEPTHS, {batches}, {seed})
        picture = last_layer_figure(DEPTHS, found, laws(DEPTHS, found))
        """, width=width, batches=batches, seed=seed)


def post(depth: int, width: int, broken: Sequence[str], seeds: range, typed: Compared | None) -> Source:
    return code("""
        {measured}
        from viz_core.analysis.placement import post_line
        from viz_core.figures.placement import post_figure
        field = mean_field("post", {depth}, found.tokens, gain)
        picture = post_figure(found.post, post_line(), post_line(gain), field)
        """, measured=_theory(depth, width, broken, seeds, typed), depth=depth)


def pre(depth: int, width: int, broken: Sequence[str], seeds: range, typed: Compared | None) -> Source:
    return code("""
        {measured}
        import numpy as np
        from viz_core.analysis.placement import pre_band
        from viz_core.figures.placement import pre_figure
        low, high = pre_band(np.arange({layers}))
        picture = pre_figure(found.pre, low, high, mean_field("pre", {depth}, found.tokens, gain))
        """, measured=_theory(depth, width, broken, seeds, typed), depth=depth, layers=depth + 1)


def _theory(depth: int, width: int, broken: Sequence[str], seeds: range, typed: Compared | None) -> Source:
    """Return the code that makes `found`, the measurement, and `gain`, the power f that a feed-forward network adds."""
    dropped = Source(f", broken=frozenset({sorted(broken)!r})" if broken else "")
    words = Source("") if typed is None else code("""
        {compared}
        from viz_core.experiments.placement import placement
        typed = placement(model, batch, "pre", {seed})
        """, compared=_compared(typed), seed=typed.lab.setup.seed)
    return code("""
        {words}
        from viz_core.analysis.placement import ffn_gain, mean_field, theory_of
        from viz_core.experiments.placement import Setting, paper_runs
        settings = [Setting(depth={depth}, width={width}, seed=seed{dropped}) for seed in range({first}, {stop})]
        found = theory_of(paper_runs(setting{typed}) for setting in settings)
        gain = ffn_gain({width}, settings[0].config.ff_width)
        """, words=words, depth=depth, width=width, dropped=dropped, first=seeds.start, stop=seeds.stop,
                typed=Source("" if typed is None else ", typed"))


# ---------------------------------------------------------------- one LayerNorm


def steps(lab: Lab, place: Place, item: int, token: int, feature: int, eps: float) -> Source:
    return code("""
        {run}
        from viz_core.analysis.layernorm import layer_norm
        from viz_core.figures.layernorm import steps_figure
        x = capture[{reads}][{item}, {token}]
        gamma, beta = (p.detach().numpy() for p in model.get_submodule({path}).parameters())
        picture = steps_figure(layer_norm(x, gamma, beta, {eps}), {feature})
        """, run=traced_code(lab), reads=place.reads, item=item, token=token, path=place.path, eps=eps, feature=feature)


def results(lab: Lab, stage: str, item: int, halved: bool) -> Source:
    return code("""
        {run}
        import numpy as np
        from viz_core.analysis.layernorm import normalise
        from viz_core.figures.batchnorm import result_panels
        x = capture[{stage}]
        every = np.ones(x.shape[:2], bool)
        results = {{norm: normalise(x, norm, config.norm_eps, every)[{item}] for norm in ("layer", "batch")}}
        panels = result_panels({stage}, x[{item}], results, capture.tokens({side})[{item}])
        """, run=_batch(lab, halved), stage=stage, item=item, side=_side(stage))


def same_mean(lab: Lab, stage: str, at: Cell, halved: bool) -> Source:
    """Return the code for the drawing of the cells that share a mean in each norm."""
    return code("""
        {cells}
        from viz_core import drawn
        from viz_core.analysis.layernorm import NORMS, members
        from viz_core.figures.batchnorm import Members, cells_html, in_short
        tokens, every = capture.tokens({side}), np.ones(x.shape[:2], bool)
        found = [Members(norm, members(norm, x.shape, at, every), in_short(x, norm, at, config.norm_eps)) for norm in NORMS]
        frame, shown = drawn.members(found, words, tokens), cells_html(found, words, tokens, at)
        """, cells=_cells(lab, stage, at, halved), side=_side(stage))


def contexts(lab: Lab, stage: str, at: Cell, halved: bool) -> Source:
    """Return the code for the table of one cell in several batches."""
    return code("""
        {cells}
        from viz_core import tables
        from viz_core.analysis.layernorm import cases
        frame = tables.batch_contexts(cases(x, words, at, config.norm_eps))
        """, cells=_cells(lab, stage, at, halved))


def _cells(lab: Lab, stage: str, at: Cell, halved: bool) -> Source:
    """Return the code that makes `x`, a stage; `words`, which of its tokens are not padding; and `at`, one of its cells."""
    return code("""
        {run}
        import numpy as np
        from viz_core.analysis.attention import real
        from viz_core.analysis.layernorm import Cell
        x, at = capture[{stage}], Cell({sentence}, {token}, {feature})
        words = np.stack([real(capture, {side}, i) for i in range(len(x))])
        """, run=_batch(lab, halved), stage=stage, side=_side(stage), sentence=at.sentence, token=at.token, feature=at.feature)


def _batch(lab: Lab, halved: bool) -> Source:
    """Return the code that makes `capture`. halved: whether the typed sentence is read together with its own first half."""
    return run_code(lab) if not halved else code("""
        {model}
        from viz_core.experiments.layernorm import with_first_half
        from viz_core.run import trace
        capture = trace(model, with_first_half(config, batch, 0))
        """, model=model_code(lab))


def _side(stage: str) -> Side:
    return "target" if stage.startswith("decoder") else "source"
