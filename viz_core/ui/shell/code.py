"""Snippets: the Python that makes a picture of a page in a notebook, written from the values with which the page drew it.

    chart(figure, "pos_waves", code=lambda: code('''
        from viz_core.analysis.positions import waves
        table = waves({length}, {d_model}, {base})
        ...
        ''', length=50, d_model=64, base=10000.0))

A snippet defines what its end reads (`viz_core.ui.components.saving.ENDS`): `panels` for matrices, `picture` for a Plotly figure,
`chart` for curves. `run_code` writes the lines that make the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from textwrap import dedent
from typing import Any

from viz_core.config import FIELDS, TransformerConfig
from viz_core.language import translate as _
from viz_core.ui.components.glosses import shown_glosses
from viz_core.ui.shell.run import Lab, lab_of
from viz_core.ui.shell.setup import Setup, changes, ids, sentences, unpacked
from viz_core.ui.shell.two_runs import TwoRuns
from viz_core.ui.shell.written import written
from viz_core.weights.catalogue import lasting

LONG_LINE = 90  # characters of the arguments of a call, about


class Source(str):
    """Lines of Python, which `code` puts in as they are; any other value is written as `repr` does."""


def code(template: str, **values: Any) -> Source:
    """A template with its {holes} filled. Lines of a `Source` stand at the beginning of a line of their own."""
    return Source(dedent(template).strip("\n").format_map({name: written_out(value) for name, value in values.items()}) + "\n")


def written_out(value: Any) -> str:
    """A value as Python; a typed text stays the same text, written so that it cannot hide what it does."""
    if isinstance(value, Source):
        return value.strip("\n")
    if hasattr(value, "tolist"):  # of NumPy
        return written_out(value.tolist())
    if is_dataclass(value) and not isinstance(value, type):
        inside = ", ".join(f"{f.name}={written_out(getattr(value, f.name))}" for f in fields(value) if f.init)
        return f"{type(value).__name__}({inside})"
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        inside = ", ".join(map(written_out, value)) + ("," if isinstance(value, tuple) and len(value) == 1 else "")
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    if isinstance(value, float) and value != value:
        return 'float("nan")'
    return repr(value) if not isinstance(value, str) else _text(value)


def _text(text: str) -> str:
    """A text as Python: its letters as they are, where nobody can mistake them; what is invisible or turns the line as numbers."""
    written = repr(text)
    return written if written.isascii() or all(_plain(c) for c in written) else ascii(text)


def _plain(character: str) -> bool:
    """Whether a character stands where it is written: no right-to-left letter, no mark that joins or turns others."""
    from unicodedata import bidirectional, combining

    return character.isprintable() and not combining(character) and bidirectional(character) not in ("R", "AL", "AN")


# ---------------------------------------------------------------- runs


def run_code(lab: Lab, name: str = "capture") -> Source:
    """The lines that make the run of a page, as `name`, and its `config`. `ValueError` for weights of this server alone."""
    if lab.altered is not None:
        return _patched(lab, name)
    setup = lab.setup
    if setup.origin is not None and setup.card is None:  # the words of trained weights, but no longer their sizes
        return code("""
            {model}
            from viz_core.run import trace
            {name} = trace(model, batch, seed={seed})
            """, model=model_code(lab), name=Source(name), seed=setup.seed)
    source, target = _typed(setup)
    untrained = setup.card is None
    options = (
        (f"seed={setup.seed}", untrained and setup.seed), ("tokenizer='character'", untrained and setup.tokenizer == "character"),
        (f"device={setup.device!r}", setup.device != "auto"), ("weights=weights", not untrained),
    )
    given = [option for option, asked in options if asked]
    return code("""
        from viz_core.run import run
        {config}
        {name} = run({given})
        """, config=config_code(setup), name=Source(name),
                given=Source(", ".join(["config", written_out(source), written_out(target), *given])))


def model_code(lab: Lab) -> Source:
    """The lines that make `config`, `model` and `batch`, for experiments that run the model again."""
    setup = lab.setup
    source, target = _typed(setup)
    tokenizers = "weights.tokenizers()" if setup.origin is not None else repr(_kind(setup))
    return code("""
        {built}
        from viz_core.run import prepare
        batch = prepare(config, {source}, {target}, {tokenizers})
        """, built=built_code(lab), source=source, target=target, tokenizers=Source(tokenizers))


def built_code(lab: Lab) -> Source:
    """The lines that make `config` and `model`, where nothing that was typed is read."""
    setup = lab.setup
    if setup.card is not None:
        model = Source("from viz_core.run import switched\nmodel = switched(weights.load(), config)")
    else:
        model = Source(f"from viz_core.run import build\nmodel = build(config, {setup.seed})")
    return code("""
        {config}
        {model}
        """, config=config_code(setup), model=model)


def tokenizer_code(lab: Lab, side: str) -> Source:
    """The line that makes `tokenizer`, that of one side, after those that make `config`."""
    if lab.setup.origin is not None:
        return code("tokenizer = weights.tokenizers()[{side}]", side=side)
    return code("""
        from viz_core.run import tokenizers
        tokenizer = tokenizers(config, {kind})[{side}]
        """, kind=_kind(lab.setup), side=side)


def _kind(setup: Setup) -> str:
    """The untrained tokenizer; lists of ids are read by none."""
    return "word" if setup.tokenizer == "ids" else setup.tokenizer


def settings_code(config: TransformerConfig) -> Source:
    """A config by its own settings: `TransformerConfig(d_model=64, …)`, without those that it has by itself."""
    plain = TransformerConfig()
    own = {name: getattr(config, name) for name in FIELDS if getattr(config, name) != getattr(plain, name)}
    return called("TransformerConfig", own)


def called(name: str, given: Mapping[str, Any]) -> Source:
    """A call with named arguments, on lines of its own where one would be long."""
    arguments = [f"{key}={written_out(value)}" for key, value in given.items()]
    if sum(map(len, arguments)) <= LONG_LINE:
        return Source(f"{name}({', '.join(arguments)})")
    lines = [arguments[0]]
    for argument in arguments[1:]:
        if len(lines[-1]) + len(argument) <= LONG_LINE:
            lines[-1] += f", {argument}"
        else:
            lines.append(argument)
    return Source(f"{name}(\n    " + ",\n    ".join(lines) + ",\n)")


def config_code(setup: Setup) -> Source:
    """The lines that make `config`, and `weights`, the card of the trained weights whose words the model reads."""
    if setup.origin is None:
        base, lines = f"PRESETS[{setup.preset!r}].config", "from viz_core.presets import PRESETS\n"
    elif setup.checkpoint in lasting():
        base = "weights.config"
        lines = f"from viz_core.weights.catalogue import catalogue\nweights = catalogue()[{setup.checkpoint!r}]\n"
    else:
        raise ValueError(_("The weights of this run are on this server only, so a notebook cannot run them: download them on the "
                           "page Training."))
    changed = ", ".join(f"{name}={written_out(value)}" for name, value in changes(setup).items())
    if changed:
        return Source(f"{lines}from dataclasses import replace\nconfig = replace({base}, {changed})")
    return Source(f"{lines}config = {base}")


def _typed(setup: Setup) -> tuple[list[Any], list[Any]]:
    """Source and target as the run read them: texts, lists of ids where ids were typed, and what the model wrote."""
    source, target, __ = sentences(setup)
    lines: Sequence[Any] = target
    if setup.writer == "model":
        lines = [line.sentence for line in written(setup)]
    elif setup.tokenizer == "ids":
        return ids("source", source), ids("target", target)
    return list(source), list(lines)


def _patched(lab: Lab, name: str) -> Source:
    """The run with a value of A in one place."""
    stack, part, layer, head, token = lab.setup.view("patch")
    assert lab.capture is not None
    item = lab.item(lab.capture)
    kept = lab_of(unpacked(lab.setup.view("kept"))[0])
    return code("""
        {model}
        from viz_core.experiments.patching import Site
        from viz_core.experiments.transplant import transplanted
        {name} = transplanted(model, batch, a, Site({stack}, {part}, {layer}, {head}), {token}, {item}, {item}, {seed})
        """, model=below(run_code(kept, "a"), model_code(lab)), name=Source(name), stack=stack, part=part, layer=layer, head=head,
                token=token, item=item, seed=lab.setup.seed)


def traced_code(lab: Lab, name: str = "capture") -> Source:
    """The lines that make a run as `name` and, beside its `config`, the `model` and the `batch` that it is made of."""
    if lab.altered is not None:
        return run_code(lab, name)
    return code("""
        {model}
        from viz_core.run import trace
        {name} = trace(model, batch)
        """, model=model_code(lab), name=Source(name))


def below(above: Source, lines: Source) -> Source:
    """Lines that stand below others about the same model: without those that would only make its config or weights again."""
    there = set(above.splitlines())
    return code("""
        {above}
        {lines}
        """, above=above, lines=Source("\n".join(line for line in lines.splitlines() if line not in there)))


def two_runs_code(a: Lab, b: Lab) -> Source:
    """The lines that make the runs A and B as `a` and `b`."""
    if b.altered is not None:  # which needs A
        return run_code(b, "b")
    if a.model_key() == b.model_key():
        return below(run_code(a, "a"), run_code(b, "b"))
    return Source(run_code(a, "a") + run_code(b, "b"))


def both_code(two: TwoRuns) -> Source:
    """The lines that make the runs `a` and `b` of a page that compares two, and `both`, their selected sentence."""
    return code("""
        {runs}
        from viz_core.analysis.two_runs import together
        both = together(a, b, {item_a}, {item_b})
        """, runs=two_runs_code(two.a, two.b), item_a=two.both.item_a, item_b=two.both.item_b)


# ---------------------------------------------------------------- words


def tokenizers_code(lab: Lab, item: int, run: str = "capture", name: str = "readers") -> Source:
    """The line that makes the tokenizer of each side as it names one sentence of a run, whose lines stand just above."""
    if lab.setup.origin is None:
        return code("""
            from viz_core.run import tokenizers
            {name} = tokenizers(config, {kind})
            """, name=Source(name), kind=_kind(lab.setup))
    return code("""
        from viz_core.text import bound
        {name} = {{side: bound(each, {run}.carried({item})) for side, each in weights.tokenizers().items()}}
        """, name=Source(name), run=Source(run), item=item)


def glosses_code() -> Source:
    """The argument of a picture whose tokens have dictionary words beside them: those of `weights`."""
    return Source(", glosses=weights.glosses" if shown_glosses() else "")


def word_code(lab: Lab, side: str, item: int, run: str = "capture", name: str = "word") -> Source:
    """The lines that make a function of the name of an id in one sentence of a run, whose lines stand just above."""
    readers = tokenizers_code(lab, item, run)
    if lab.setup.origin is not None:
        return code("""
            {readers}
            {name} = readers[{side}].decode
            """, readers=readers, name=Source(name), side=side)
    return code("""
        {readers}
        from viz_core.analysis.summary import word_of
        {name} = word_of({run}, {side}, readers[{side}])
        """, readers=readers, name=Source(name), run=Source(run), side=side)
