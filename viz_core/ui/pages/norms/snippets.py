"""Notebook code for the figures of this page, with the values that they are drawn with."""

from collections.abc import Sequence

from viz_core.analysis.layernorm import CellIndex, LayerNormSite
from viz_core.analysis.norm_placement import Metric
from viz_core.config import Side
from viz_core.ui.pages.norms.untrained_stack import UntrainedStack
from viz_core.ui.shell import PageContext
from viz_core.ui.shell.export.notebook_code import CodeLines, fill_template, model_code, run_code, trace_code

# ---------------------------------------------------------------- the compared stack


def _stack_code(stack: UntrainedStack) -> CodeLines:
    """Return the code that makes `model`, the untrained stack as Pre-LN, and `batch`, its input."""
    from viz_core.experiments.norm_placement import config_depth

    return fill_template("""
        {run}
        from viz_core.experiments.norm_placement import comparison_config, comparison_batch
        from viz_core.run import build
        stack = comparison_config(config, depth={depth}, width={width}, init={init})
        model, batch = build(stack, {seed}, {device}), comparison_batch(capture)
        """, run=run_code(stack.context), depth=config_depth(stack.config), width=stack.config.d_model, init=stack.config.init,
                         seed=stack.context.setup.seed, device=stack.context.setup.device)


def depth(stack: UntrainedStack, names: Sequence[str], metric: Metric) -> CodeLines:
    return fill_template("""
        {compared}
        from viz_core.analysis.norm_placement import depth_curves
        from viz_core.experiments.norm_placement import run_placements
        from viz_core.figures.norm_placement import depth_figure
        captures = run_placements(model, batch, {names}, {seed})
        picture = depth_figure({{name: depth_curves(x, [{metric}])[{metric}] for name, x in captures.items()}}, {metric})
        """, compared=_stack_code(stack), names=list(names), seed=stack.context.setup.seed, metric=metric)


def blocks(highlighted: str) -> CodeLines:
    """Return the code for the drawing of both blocks."""
    return fill_template("""
        from viz_core.figures import plot_data
        from viz_core.figures.block_drawing import blocks_html
        frame, shown = plot_data.blocks({lit}), blocks_html({lit})
        """, lit=highlighted)


def ridges(stack: UntrainedStack, names: Sequence[str], side: Side, leaf: str, scale: str) -> CodeLines:
    return fill_template("""
        {spreads}
        from viz_core.figures.distributions import ridges_figure
        from viz_core.figures.norm_placement import PLACEMENT_COLOURS
        picture = ridges_figure(found, {{PLACEMENT_TITLES[name]: PLACEMENT_COLOURS[name] for name in captures}})
        """, spreads=_spreads_code(stack, names, side, leaf, scale))


def widths(stack: UntrainedStack, names: Sequence[str], side: Side, leaf: str, scale: str) -> CodeLines:
    """Return the code for the table of the ridges."""
    return fill_template("""
        {spreads}
        from viz_core import tables
        frame = tables.activation_spread(found)
        """, spreads=_spreads_code(stack, names, side, leaf, scale))


def _spreads_code(stack: UntrainedStack, names: Sequence[str], side: Side, leaf: str, scale: str) -> CodeLines:
    """Return the code that makes `captures`, the run of each placement, and `found`, their histograms."""
    return fill_template("""
        {compared}
        from viz_core.analysis.layernorm import activation_histograms
        from viz_core.experiments.norm_placement import run_placements
        from viz_core.figures.norm_placement import PLACEMENT_TITLES
        captures = run_placements(model, batch, {names}, {seed})
        titled = {{PLACEMENT_TITLES[name]: capture for name, capture in captures.items()}}
        found = activation_histograms(titled, {side}, {leaf}, {scale})
        """, compared=_stack_code(stack), names=list(names), seed=stack.context.setup.seed, side=side, leaf=leaf, scale=scale)


def gradients(stack: UntrainedStack, batches: int) -> CodeLines:
    return fill_template("""
        {compared}
        from viz_core.experiments.norm_placement import layer_gradients, with_placement, with_random_batches
        from viz_core.figures.norm_placement import gradients_figure
        batches = with_random_batches(batch, stack, {batches}, {seed})
        found = {{name: layer_gradients(with_placement(model, name), batches) for name in ("post", "pre")}}
        parts = {{name: {{"attention": g.attention, "feed-forward": g.ffn}} for name, g in found.items()}}
        picture = gradients_figure(parts, {batches})
        """, compared=_stack_code(stack), batches=batches, seed=stack.context.setup.seed)


# ---------------------------------------------------------------- the setting of the paper


def last_layer(width: int, batches: int, seed: int) -> CodeLines:
    return fill_template("""
        from viz_core.analysis.norm_placement import gradient_power_laws
        from viz_core.experiments.norm_placement import DEPTHS, last_layer_gradients
        from viz_core.figures.norm_placement import last_layer_figure
        found = last_layer_gradients({width}, DEPTHS, {batches}, {seed})
        picture = last_layer_figure(DEPTHS, found, gradient_power_laws(DEPTHS, found))
        """, width=width, batches=batches, seed=seed)


def post(depth: int, width: int, broken: Sequence[str], seeds: range, typed: UntrainedStack | None) -> CodeLines:
    return fill_template("""
        {measured}
        from viz_core.analysis.norm_placement import post_ln_power
        from viz_core.figures.norm_placement import post_ln_theory_figure
        field = mean_field("post", {depth}, found.n_tokens, gain)
        picture = post_ln_theory_figure(found.post, post_ln_power(), post_ln_power(gain), field)
        """, measured=_theory_code(depth, width, broken, seeds, typed), depth=depth)


def pre(depth: int, width: int, broken: Sequence[str], seeds: range, typed: UntrainedStack | None) -> CodeLines:
    return fill_template("""
        {measured}
        import numpy as np
        from viz_core.analysis.norm_placement import pre_ln_power_bounds
        from viz_core.figures.norm_placement import pre_ln_theory_figure
        low, high = pre_ln_power_bounds(np.arange({layers}))
        picture = pre_ln_theory_figure(found.pre, low, high, mean_field("pre", {depth}, found.n_tokens, gain))
        """, measured=_theory_code(depth, width, broken, seeds, typed), depth=depth, layers=depth + 1)


def _theory_code(depth: int, width: int, broken: Sequence[str], seeds: range, typed: UntrainedStack | None) -> CodeLines:
    """Return the code that makes `found`, the measurement, and `gain`, the power f that a feed-forward network adds."""
    dropped = CodeLines(f", broken_assumptions=frozenset({sorted(broken)!r})" if broken else "")
    words = CodeLines("") if typed is None else fill_template("""
        {compared}
        from viz_core.experiments.norm_placement import run_placement
        typed = run_placement(model, batch, "pre", {seed})
        """, compared=_stack_code(typed), seed=typed.context.setup.seed)
    return fill_template("""
        {words}
        from viz_core.analysis.norm_placement import ffn_gain, mean_field, measure_theory
        from viz_core.experiments.norm_placement import PaperSetting, paper_runs
        settings = [PaperSetting(depth={depth}, width={width}, seed=seed{dropped}) for seed in range({first}, {stop})]
        found = measure_theory(paper_runs(setting{typed}) for setting in settings)
        gain = ffn_gain({width}, settings[0].config.ff_width)
        """, words=words, depth=depth, width=width, dropped=dropped, first=seeds.start, stop=seeds.stop,
                         typed=CodeLines("" if typed is None else ", typed"))


# ---------------------------------------------------------------- one LayerNorm


def steps(context: PageContext, norm: LayerNormSite, item: int, token: int, feature: int, eps: float) -> CodeLines:
    shift = context.config.normalization.has_shift
    parameters = ("gamma, beta = (p.detach().numpy() for p in model.get_submodule({path}).parameters())" if shift else
                  "gamma = model.get_submodule({path}).weight.detach().numpy()\nbeta = 0 * gamma")
    return fill_template("""
        {run}
        from viz_core.analysis.layernorm import layer_norm_steps
        from viz_core.figures.layernorm import layernorm_figure
        x = capture[{reads}][{item}, {token}]
        {parameters}
        picture = layernorm_figure(layer_norm_steps(x, gamma, beta, {eps}{kind}), {feature})
        """, run=trace_code(context), reads=norm.input_stage, item=item, token=token, eps=eps, feature=feature,
                         parameters=fill_template(parameters, path=norm.path),
                         kind=CodeLines("" if shift else ", config.normalization"))


def results(context: PageContext, stage: str, item: int, halved: bool) -> CodeLines:
    return fill_template("""
        {run}
        import numpy as np
        from viz_core.analysis.layernorm import normalize
        from viz_core.figures.batchnorm import norm_result_panels
        x = capture[{stage}]
        every = np.ones(x.shape[:2], bool)
        results = {{norm: normalize(x, norm, config.norm_eps, every)[{item}] for norm in ("layer", "batch")}}
        panels = norm_result_panels({stage}, x[{item}], results, capture.tokens({side})[{item}])
        """, run=_batch_code(context, halved), stage=stage, item=item, side=_side_of(stage))


def same_mean(context: PageContext, stage: str, at: CellIndex, halved: bool) -> CodeLines:
    """Return the code for the drawing of the cells that share a mean in each norm."""
    return fill_template("""
        {cells}
        from viz_core.figures import plot_data
        from viz_core.analysis.layernorm import NORMALIZATIONS, group_members
        from viz_core.figures.batchnorm import NormGroup, norm_cells_html, norm_summary_html
        tokens, every = capture.tokens({side}), np.ones(x.shape[:2], bool)
        found = [
            NormGroup(norm, group_members(norm, x.shape, at, every), norm_summary_html(x, norm, at, config.norm_eps))
            for norm in NORMALIZATIONS
        ]
        frame, shown = plot_data.norm_members(found, words, tokens), norm_cells_html(found, words, tokens, at)
        """, cells=_cells_code(context, stage, at, halved), side=_side_of(stage))


def contexts(context: PageContext, stage: str, at: CellIndex, halved: bool) -> CodeLines:
    """Return the code for the table of one cell in several batches."""
    return fill_template("""
        {cells}
        from viz_core import tables
        from viz_core.analysis.layernorm import compare_batch_contexts
        frame = tables.batch_norm_contexts(compare_batch_contexts(x, words, at, config.norm_eps))
        """, cells=_cells_code(context, stage, at, halved))


def _cells_code(context: PageContext, stage: str, at: CellIndex, halved: bool) -> CodeLines:
    """Return the code that makes `x`, a stage; `words`, which of its tokens are not padding; and `at`, one of its cells."""
    return fill_template(
        """
        {run}
        import numpy as np
        from viz_core.analysis.attention import token_mask
        from viz_core.analysis.layernorm import CellIndex
        x, at = capture[{stage}], CellIndex({sentence}, {token}, {feature})
        words = np.stack([token_mask(capture, {side}, i) for i in range(len(x))])
        """,
        run=_batch_code(context, halved),
        stage=stage,
        side=_side_of(stage),
        sentence=at.sentence,
        token=at.token,
        feature=at.feature,
    )


def _batch_code(context: PageContext, halved: bool) -> CodeLines:
    """Return the code that makes `capture`. halved: whether the typed sentence is read together with its own first half."""
    return run_code(context) if not halved else fill_template("""
        {model}
        from viz_core.experiments.torch_norms import padded_pair
        from viz_core.run import trace
        capture = trace(model, padded_pair(config, batch, 0))
        """, model=model_code(context))


def _side_of(stage: str) -> Side:
    return "target" if stage.startswith("decoder") else "source"
