"""Notebook code for the figures of this page, with the values that they are drawn with."""

from collections.abc import Mapping, Sequence

from viz_core.figures.curves import CurveChart
from viz_core.generate.cache_trace import StepTimes
from viz_core.generate.strategy import Beam, Greedy, Sampling, Strategy
from viz_core.messages import translate as _
from viz_core.ui.pages.writing.paths import BEAM, GeneratedPath, path_title
from viz_core.ui.pages.writing.prompt import Prompt, chosen_strategy, max_new_tokens
from viz_core.ui.shell import PageContext, url_param
from viz_core.ui.shell.export.notebook_code import (
    CodeLines,
    fill_template,
    glosses_code,
    model_code,
    token_name_code,
    tokenizers_code,
    trace_code,
)


def attended(context: PageContext, prompt: Prompt, strategy: Strategy, layer: int, length: int) -> CodeLines:
    names = CodeLines("reader.decode" if context.setup.checkpoint_card is not None else "word_lookup(capture, side, reader)")
    return fill_template(
        """
        {begin}
        {trail}
        {readers}
        words = {{side: {names} for side, reader in readers.items()}}
        from viz_core.figures.kv_cache import step_attention_panels
        from viz_core.generate import decoder_batch
        text = decoder_batch([*start, *trail.ids{seen}], source, token_names=words)
        panels = step_attention_panels(trace(model, text), {layer}, {length}{glosses})
        """,
        begin=_prompt_code(context, prompt, with_words=True),
        trail=_trace_code(context, strategy),
        layer=layer,
        length=length,
        names=names,
        seen=CodeLines("" if context.config.is_causal else f"[:{length - len(prompt.start_ids()) + 1}]"),
        glosses=glosses_code(),
        readers=CodeLines(
            tokenizers_code(context, prompt.item)
            + ("" if context.setup.checkpoint_card is not None else "from viz_core.analysis.summary import word_lookup\n")
        ),
    )


def chosen(context: PageContext, prompt: Prompt, strategy: Strategy, step: int) -> CodeLines:
    return fill_template(
        """
        {begin}
        {trail}
        {word}
        {candidates}
        """,
        begin=_prompt_code(context, prompt, with_words=True),
        trail=_trace_code(context, strategy),
        word=token_name_code(context, "target", prompt.item),
        candidates=_candidates_code(context, strategy, step, "trail.search", marked=False),
    )


def branching(context: PageContext, prompt: Prompt, found: Mapping[str, GeneratedPath], key: str, step: int) -> CodeLines:
    path, search = found[key], f"trails[{path_title(BEAM)!r}].search"
    strategy = path.strategy if path.search is not None or not isinstance(path.strategy, Beam) else Greedy()
    return fill_template("""
        {paths}
        trail = trails[{name}]
        {candidates}
        """, paths=_paths_code(context, prompt, found), name=path_title(key),
                         candidates=_candidates_code(context, strategy, step, search, marked=True))


def _candidates_code(context: PageContext, strategy: Strategy, step: int, search: str, *, marked: bool) -> CodeLines:
    """Return the code for the candidates of one step. search: code of the beam search. marked: mark the token written."""
    if isinstance(strategy, Beam):
        return fill_template("""
            from viz_core.figures.decoding import beam_table
            candidates = beam_table({search}.steps, {at}, {how}, trail.ids, word, {eos})
            """, search=CodeLines(search), at=step, how=strategy, eos=_eos_id(context))
    if isinstance(strategy, Sampling):
        return fill_template("""
            from viz_core.figures.decoding import sampling_table
            from viz_core.generate import Sampling
            from viz_core.generate.sampling import sample
            sampling = {how}
            found = sample(trail.logits[{at}], sampling, float(trail.random_numbers[{at}]))
            candidates = sampling_table(found, sampling, word{glosses})
            """, how=strategy, at=step, glosses=glosses_code())
    return fill_template("""
        from viz_core.figures.decoding import greedy_table
        from viz_core.generate import Sampling
        from viz_core.generate.sampling import sample
        candidates = greedy_table(sample(trail.logits[{at}], Sampling(), 0.0), word{marked}{glosses})
        """, at=step, marked=CodeLines(f", trail.ids[{step}]" if marked else ""), glosses=glosses_code())


def rows(context: PageContext, prompt: Prompt, number: int, last: int) -> CodeLines:
    return fill_template(
        """
        {begin}
        {trail}
        {word}
        from viz_core.figures.kv_cache import key_value_panels
        from viz_core.generate.cache_trace import trace_cache
        from viz_core.text import display_token
        text = [*start, *trail.ids[:-1]]
        found = trace_cache(model, text, source)
        panels = key_value_panels(found.keys, found.values, {number}, {last}, [display_token(word(id)) for id in text])
        """,
        begin=_prompt_code(context, prompt, with_words=True),
        trail=_trace_code(context, chosen_strategy()),
        word=token_name_code(context, "target", prompt.item),
        number=number,
        last=last,
    )


def costs(context: PageContext, prompt: Prompt, chart: CurveChart, step: int, times: StepTimes | None) -> CodeLines:
    """Return the code for the cost of the steps.

    times: measured times, which are written out because they depend on the machine; None for FLOPs.
    """
    if times is not None:
        return fill_template(
            """
            import numpy as np
            from viz_core.figures.losses import cost_per_step_chart
            {comment}
            cached = np.array({cached})
            anew = np.array({anew})
            chart = cost_per_step_chart(cached, anew, {title}, {unit}, {at})
            """,
            comment=CodeLines("# " + _("Measured once; measure_times of viz_core.generate.cache_trace measures on your machine.")),
            cached=times.cached,
            anew=times.uncached,
            title=chart.title,
            unit=chart.y_title,
            at=step,
        )
    return fill_template(
        """
        {begin}
        {trail}
        from viz_core.analysis.kv_cache_cost import flops_per_step
        from viz_core.figures.losses import cost_per_step_chart
        with_cache, without = flops_per_step(config, {source}, len(start) + len(trail.ids) - 1)
        chart = cost_per_step_chart(with_cache, without, {title}, {unit}, {at})
        """,
        begin=_prompt_code(context, prompt),
        trail=_trace_code(context, chosen_strategy()),
        source=len(prompt.source or ()),
        title=chart.title,
        unit=chart.y_title,
        at=step,
    )


def losses(context: PageContext, prompt: Prompt, labels: Sequence[int], slip: int) -> CodeLines:
    return fill_template("""
        {forced}
        from math import log
        from viz_core.figures.losses import losses_figure
        from viz_core.text import display_token
        words, uniform = [display_token(word(id)) for id in labels], log(config.output_vocab_size)
        forced, free = found.comparison.teacher_forced_losses, found.free_running_losses
        picture = losses_figure(forced, free, words, found.diverges_at, uniform{glosses})
        """, forced=_teacher_forcing_code(context, prompt, labels, slip), glosses=glosses_code())


def both_texts(context: PageContext, prompt: Prompt, labels: Sequence[int], slip: int) -> CodeLines:
    """Return the code for the table of both texts, token by token."""
    return fill_template("""
        {forced}
        from dataclasses import replace
        from viz_core import tables
        both = replace(found.comparison, generated_ids=found.generated_ids, free_running_losses=found.free_running_losses)
        frame = tables.teacher_forcing(both, labels, start[-1], word)
        """, forced=_teacher_forcing_code(context, prompt, labels, slip))


def _teacher_forcing_code(context: PageContext, prompt: Prompt, labels: Sequence[int], slip: int) -> CodeLines:
    """Return the code that makes `labels` and `found`, the losses with teacher forcing and free running."""
    return fill_template(
        """
        {begin}
        {word}
        from viz_core.generate.teacher_forcing import compare_with_forced_error
        labels = {labels}
        found = compare_with_forced_error(model, start, labels, source, eos_id={eos}, error_at={slip})
        """,
        begin=_prompt_code(context, prompt, with_words=True),
        word=token_name_code(context, "target", prompt.item),
        labels=list(labels),
        eos=_eos_id(context),
        slip=None if slip < 0 else slip - 1,
    )


def paths(context: PageContext, prompt: Prompt, found: Mapping[str, GeneratedPath]) -> CodeLines:
    """Return the code for the table of the texts of the tree."""
    return fill_template("""
        {paths}
        from viz_core import tables
        frame = tables.continuations(trails, word)
        """, paths=_paths_code(context, prompt, found))


def _paths_code(context: PageContext, prompt: Prompt, found: Mapping[str, GeneratedPath]) -> CodeLines:
    """Return the code that makes `trails`, the texts of the tree by their titles."""
    return fill_template(
        """
        {begin}
        {word}
        from functools import partial
        from viz_core.generate.trace import trace_generation
        write = partial(trace_generation, model, start, source, eos_id={eos}, max_new_tokens={most})
        trails = {{}}
        {paths}
        """,
        begin=_prompt_code(context, prompt, with_words=True),
        word=token_name_code(context, "target", prompt.item),
        eos=_eos_id(context),
        most=max_new_tokens(),
        paths=CodeLines("".join(_path_code(context, key, path) for key, path in found.items())),
    )


def _path_code(context: PageContext, key: str, path: GeneratedPath) -> CodeLines:
    name = path_title(key)
    if key.isdigit():  # the ids up to the end of the branch are given
        __, step, ids = url_param("write_branches")[int(key) - 1]
        return fill_template("trails[{name}] = write(forced_ids={given})", name=name, given=list(path.trace.ids[: step + len(ids)]))
    if key.startswith(BEAM) and key != BEAM:  # another finished text of the search, whose ids are all given
        number, ended = int(key[len(BEAM) :]) - 1, path.hypothesis is not None and path.hypothesis.has_ended
        return fill_template("trails[{name}] = write(forced_ids=[*trails[{best}].search.finished[{number}].ids{end}])", name=name,
                             best=path_title(BEAM), number=number, end=CodeLines(f", {_eos_id(context)}" if ended else ""))
    if path.strategy == Greedy():
        return fill_template("trails[{name}] = write()", name=name)
    return fill_template("""
        from viz_core.generate import {kind}
        trails[{name}] = write(strategy={how})
        """, name=name, how=path.strategy, kind=CodeLines(type(path.strategy).__name__))


def _prompt_code(context: PageContext, prompt: Prompt, with_words: bool = False) -> CodeLines:
    """Return the code that makes the model and the prompt. with_words: also the run of the page, whose words name ids."""
    source = CodeLines("None" if prompt.source is None else f'batch.ids["source"][{prompt.item}, :{len(prompt.source)}].tolist()')
    return fill_template(
        """
        {model}
        start = batch.ids["target"][{item}, :{length}].tolist()
        source = {source}
        """,
        model=trace_code(context) if with_words else model_code(context),
        item=prompt.item,
        length=len(prompt.start_ids()),
        source=source,
    )


def _trace_code(context: PageContext, strategy: Strategy) -> CodeLines:
    """Return the code that makes `trail`, the generated text."""
    given = CodeLines("" if strategy == Greedy() else fill_template(", strategy={how}", how=strategy).strip("\n"))
    kind = CodeLines("" if strategy == Greedy() else f"from viz_core.generate import {type(strategy).__name__}")
    return fill_template("""
        {kind}
        from viz_core.generate.trace import trace_generation
        trail = trace_generation(model, start, source, eos_id={eos}, max_new_tokens={most}{given})
        """, kind=kind, eos=_eos_id(context), most=max_new_tokens(), given=given)


def _eos_id(context: PageContext) -> int:
    return context.tokenizers["target"].eos_id
