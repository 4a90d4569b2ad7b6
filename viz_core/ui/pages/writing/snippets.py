"""Notebook code for the figures of this page, with the values that they are drawn with."""

from collections.abc import Mapping, Sequence

from viz_core.figures.curves import Curves
from viz_core.generation.growing import StepTimes
from viz_core.generation.strategy import Beam, Greedy, Sampling, Strategy
from viz_core.language import translate as _
from viz_core.ui.pages.writing.beginning import Beginning, longest, strategy
from viz_core.ui.pages.writing.paths import BEAM, Told, title
from viz_core.ui.shell import Lab, view
from viz_core.ui.shell.code import Source, code, glosses_code, model_code, tokenizers_code, traced_code, word_code


def attended(lab: Lab, begun: Beginning, how: Strategy, layer: int, length: int) -> Source:
    names = Source("reader.decode" if lab.setup.origin is not None else "word_of(capture, side, reader)")
    return code("""
        {begin}
        {trail}
        {readers}
        words = {{side: {names} for side, reader in readers.items()}}
        from viz_core.figures.growing import attended_panels
        from viz_core.generate import reading
        text = reading([*start, *trail.ids{seen}], source, words=words)
        panels = attended_panels(trace(model, text), {layer}, {length}{glosses})
        """, begin=_begin(lab, begun, named=True), trail=_trail(lab, how), layer=layer, length=length, names=names,
                seen=Source("" if lab.config.is_causal else f"[:{length - len(begun.start()) + 1}]"),
                glosses=glosses_code(), readers=Source(tokenizers_code(lab, begun.item) + (
                    "" if lab.setup.origin is not None else "from viz_core.analysis.summary import word_of\n")))


def chosen(lab: Lab, begun: Beginning, how: Strategy, at: int) -> Source:
    return code("""
        {begin}
        {trail}
        {word}
        {candidates}
        """, begin=_begin(lab, begun, named=True), trail=_trail(lab, how), word=word_code(lab, "target", begun.item),
                candidates=_candidates(lab, how, at, "trail.search", marked=False))


def branching(lab: Lab, begun: Beginning, found: Mapping[str, Told], key: str, at: int) -> Source:
    path, search = found[key], f"trails[{title(BEAM)!r}].search"
    strategy = path.how if path.search is not None or not isinstance(path.how, Beam) else Greedy()
    return code("""
        {paths}
        trail = trails[{name}]
        {candidates}
        """, paths=_paths(lab, begun, found), name=title(key),
                candidates=_candidates(lab, strategy, at, search, marked=True))


def _candidates(lab: Lab, how: Strategy, at: int, search: str, *, marked: bool) -> Source:
    """Return the code for the candidates of one step. search: code of the beam search. marked: mark the token written."""
    if isinstance(how, Beam):
        return code("""
            from viz_core.figures.writing import searched
            candidates = searched({search}.steps, {at}, {how}, trail.ids, word, {eos})
            """, search=Source(search), at=at, how=how, eos=_eos(lab))
    if isinstance(how, Sampling):
        return code("""
            from viz_core.figures.writing import drawn as drawn_words
            from viz_core.generate import Sampling
            from viz_core.generation.draw import draw
            sampling = {how}
            found = draw(trail.logits[{at}], sampling, float(trail.numbers[{at}]))
            candidates = drawn_words(found, sampling, word{glosses})
            """, how=how, at=at, glosses=glosses_code())
    return code("""
        from viz_core.figures.writing import likeliest
        from viz_core.generate import Sampling
        from viz_core.generation.draw import draw
        candidates = likeliest(draw(trail.logits[{at}], Sampling(), 0.0), word{marked}{glosses})
        """, at=at, marked=Source(f", trail.ids[{at}]" if marked else ""), glosses=glosses_code())


def rows(lab: Lab, begun: Beginning, number: int, last: int) -> Source:
    return code("""
        {begin}
        {trail}
        {word}
        from viz_core.figures.growing import rows_panels
        from viz_core.generation.growing import measure_growth
        from viz_core.text import visible
        text = [*start, *trail.ids[:-1]]
        found = measure_growth(model, text, source)
        panels = rows_panels(found.keys, found.values, {number}, {last}, [visible(word(id)) for id in text])
        """, begin=_begin(lab, begun, named=True), trail=_trail(lab, strategy()), word=word_code(lab, "target", begun.item),
                number=number, last=last)


def costs(lab: Lab, begun: Beginning, chart: Curves, at: int, times: StepTimes | None) -> Source:
    """Return the code for the cost of the steps.

    times: measured times, which are written out because they depend on the machine; None for FLOPs.
    """
    if times is not None:
        return code("""
            import numpy as np
            from viz_core.figures.losses import step_curves
            {comment}
            cached = np.array({cached})
            anew = np.array({anew})
            chart = step_curves(cached, anew, {title}, {unit}, {at})
            """, comment=Source("# " + _("Measured once; measure_times of viz_core.generation.growing measures on your machine.")),
                    cached=times.cached, anew=times.anew, title=chart.title, unit=chart.y_title, at=at)
    return code("""
        {begin}
        {trail}
        from viz_core.analysis.caching import flops_of_steps
        from viz_core.figures.losses import step_curves
        with_cache, without = flops_of_steps(config, {source}, len(start) + len(trail.ids) - 1)
        chart = step_curves(with_cache, without, {title}, {unit}, {at})
        """, begin=_begin(lab, begun), trail=_trail(lab, strategy()), source=len(begun.source or ()), title=chart.title,
                unit=chart.y_title, at=at)


def losses(lab: Lab, begun: Beginning, labels: Sequence[int], slip: int) -> Source:
    return code("""
        {forced}
        from math import log
        from viz_core.figures.losses import losses_figure
        from viz_core.text import visible
        words, uniform = [visible(word(id)) for id in labels], log(config.output_vocab_size)
        picture = losses_figure(found.forcing.forced, found.free, words, found.parts_at, uniform{glosses})
        """, forced=_forced(lab, begun, labels, slip), glosses=glosses_code())


def both_texts(lab: Lab, begun: Beginning, labels: Sequence[int], slip: int) -> Source:
    """Return the code for the table of both texts, token by token."""
    return code("""
        {forced}
        from dataclasses import replace
        from viz_core import tables
        both = replace(found.forcing, written=found.written, free=found.free)
        frame = tables.forcing(both, labels, start[-1], word)
        """, forced=_forced(lab, begun, labels, slip))


def _forced(lab: Lab, begun: Beginning, labels: Sequence[int], slip: int) -> Source:
    """Return the code that makes `labels` and `found`, the losses with teacher forcing and free running."""
    return code("""
        {begin}
        {word}
        from viz_core.generation.forcing import compare_with_slip
        labels = {labels}
        found = compare_with_slip(model, start, labels, source, eos_id={eos}, slip={slip})
        """, begin=_begin(lab, begun, named=True), word=word_code(lab, "target", begun.item), labels=list(labels),
                eos=_eos(lab), slip=None if slip < 0 else slip - 1)


def paths(lab: Lab, begun: Beginning, found: Mapping[str, Told]) -> Source:
    """Return the code for the table of the texts of the tree."""
    return code("""
        {paths}
        from viz_core import tables
        frame = tables.paths(trails, word)
        """, paths=_paths(lab, begun, found))


def _paths(lab: Lab, begun: Beginning, found: Mapping[str, Told]) -> Source:
    """Return the code that makes `trails`, the texts of the tree by their titles."""
    return code("""
        {begin}
        {word}
        from functools import partial
        from viz_core.generation.trail import write_trail
        write = partial(write_trail, model, start, source, eos_id={eos}, max_new_tokens={most})
        trails = {{}}
        {paths}
        """, begin=_begin(lab, begun, named=True), word=word_code(lab, "target", begun.item), eos=_eos(lab), most=longest(),
                paths=Source("".join(_path(lab, key, path) for key, path in found.items())))


def _path(lab: Lab, key: str, told: Told) -> Source:
    name = title(key)
    if key.isdigit():  # the ids up to the end of the branch are given
        __, step, ids = view("write_branches")[int(key) - 1]
        return code("trails[{name}] = write(given={given})", name=name, given=list(told.trail.ids[: step + len(ids)]))
    if key.startswith(BEAM) and key != BEAM:  # another finished text of the search, whose ids are all given
        number, ended = int(key[len(BEAM) :]) - 1, told.finished is not None and told.finished.ended
        return code("trails[{name}] = write(given=[*trails[{best}].search.finished[{number}].ids{end}])", name=name,
                    best=title(BEAM), number=number, end=Source(f", {_eos(lab)}" if ended else ""))
    if told.how == Greedy():
        return code("trails[{name}] = write()", name=name)
    return code("""
        from viz_core.generate import {kind}
        trails[{name}] = write(strategy={how})
        """, name=name, how=told.how, kind=Source(type(told.how).__name__))


def _begin(lab: Lab, begun: Beginning, named: bool = False) -> Source:
    """Return the code that makes the model and the prompt. with_words: also the run of the page, whose words name ids."""
    source = Source("None" if begun.source is None else f'batch.ids["source"][{begun.item}, :{len(begun.source)}].tolist()')
    return code("""
        {model}
        start = batch.ids["target"][{item}, :{length}].tolist()
        source = {source}
        """, model=traced_code(lab) if named else model_code(lab), item=begun.item, length=len(begun.start()), source=source)


def _trail(lab: Lab, how: Strategy) -> Source:
    """Return the code that makes `trail`, the generated text."""
    given = Source("" if how == Greedy() else code(", strategy={how}", how=how).strip("\n"))
    kind = Source("" if how == Greedy() else f"from viz_core.generate import {type(how).__name__}")
    return code("""
        {kind}
        from viz_core.generation.trail import write_trail
        trail = write_trail(model, start, source, eos_id={eos}, max_new_tokens={most}{given})
        """, kind=kind, eos=_eos(lab), most=longest(), given=given)


def _eos(lab: Lab) -> int:
    return lab.tokenizers["target"].eos_id
