"""Notebook code: the Python that reproduces a picture of a page, filled with the values that the page drew.

    chart(figure, "pos_waves", code=lambda: code('''
        from viz_core.analysis.positions import waves
        table = waves({length}, {d_model}, {base})
        ...
        ''', length=50, d_model=64, base=10000.0))

A snippet defines the names that its last lines read (`ENDS` of `viz_core.ui.components.saving`): `panels` for matrices,
`picture` for a Plotly figure, `chart` for curves. `run_code` returns the lines that make the run.
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

LONG_LINE = 90  # characters of arguments, roughly, from which a call takes several lines


class Source(str):
    """Lines of Python. `fill_template` inserts them unchanged, and any other value as `repr` writes it."""


def code(template: str, **values: Any) -> Source:
    """Return a template with its {fields} filled in. A field for several lines of code must begin a line of the template."""
    return Source(dedent(template).strip("\n").format_map({name: written_out(value) for name, value in values.items()}) + "\n")


def written_out(value: Any) -> str:
    """Return a value as a Python expression. Typed text is written so that invisible characters show."""
    if isinstance(value, Source):
        return value.strip("\n")
    if hasattr(value, "tolist"):  # an array or scalar of NumPy
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
    """Return a string literal. Text with invisible or right-to-left characters is written with escapes."""
    written = repr(text)
    return written if written.isascii() or all(_plain(c) for c in written) else ascii(text)


def _plain(character: str) -> bool:
    """Return whether a character is printed where it is written: not right-to-left, and no combining mark."""
    from unicodedata import bidirectional, combining

    return character.isprintable() and not combining(character) and bidirectional(character) not in ("R", "AL", "AN")


# ---------------------------------------------------------------- runs


def run_code(lab: Lab, name: str = "capture") -> Source:
    """Return the lines that make `config` and, as `name`, the run of a page.

    Raises `ValueError` for weights that only this server has.
    """
    if lab.altered is not None:
        return _patched(lab, name)
    setup = lab.setup
    if setup.origin is not None and setup.card is None:  # the tokenizers of trained weights, but other sizes
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
    """Return the lines that make `config`, `model` and `batch`, for experiments that run the model again."""
    setup = lab.setup
    source, target = _typed(setup)
    tokenizers = "weights.tokenizers()" if setup.origin is not None else repr(_kind(setup))
    return code("""
        {built}
        from viz_core.run import prepare
        batch = prepare(config, {source}, {target}, {tokenizers})
        """, built=built_code(lab), source=source, target=target, tokenizers=Source(tokenizers))


def built_code(lab: Lab) -> Source:
    """Return the lines that make `config` and `model`, for code that reads no typed text."""
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
    """Return the line that makes `tokenizer` for one side; it follows the lines that make `config`."""
    if lab.setup.origin is not None:
        return code("tokenizer = weights.tokenizers()[{side}]", side=side)
    return code("""
        from viz_core.run import tokenizers
        tokenizer = tokenizers(config, {kind})[{side}]
        """, kind=_kind(lab.setup), side=side)


def _kind(setup: Setup) -> str:
    """Return the name of the untrained tokenizer. Lists of ids need none, so any will do for them."""
    return "word" if setup.tokenizer == "ids" else setup.tokenizer


def settings_code(config: TransformerConfig) -> Source:
    """Return a config as `TransformerConfig(d_model=64, …)`, without the fields that have their default."""
    default = TransformerConfig()
    changed = {name: getattr(config, name) for name in FIELDS if getattr(config, name) != getattr(default, name)}
    return called("TransformerConfig", changed)


def called(name: str, given: Mapping[str, Any]) -> Source:
    """Return a call with keyword arguments, on several lines where one would be too long."""
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
    """Return the lines that make `config` and, for trained weights, `weights`, their card."""
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
    """Return the source and target of the run: typed text, typed ids as lists, or the text that the model generated."""
    source, target, __ = sentences(setup)
    lines: Sequence[Any] = target
    if setup.writer == "model":
        lines = [line.sentence for line in written(setup)]
    elif setup.tokenizer == "ids":
        return ids("source", source), ids("target", target)
    return list(source), list(lines)


def _patched(lab: Lab, name: str) -> Source:
    """Return the lines of a run that is patched with a value of A."""
    stack, part, layer, head, token = lab.setup.view("patch")
    assert lab.capture is not None
    item = lab.item(lab.capture)
    run_a = lab_of(unpacked(lab.setup.view("kept"))[0])
    return code("""
        {model}
        from viz_core.experiments.patching import Site
        from viz_core.experiments.transplant import transplanted
        {name} = transplanted(model, batch, a, Site({stack}, {part}, {layer}, {head}), {token}, {item}, {item}, {seed})
        """, model=below(run_code(run_a, "a"), model_code(lab)), name=Source(name), stack=stack, part=part, layer=layer, head=head,
                token=token, item=item, seed=lab.setup.seed)


def traced_code(lab: Lab, name: str = "capture") -> Source:
    """Return the lines that make `config`, `model`, `batch` and, as `name`, the run."""
    if lab.altered is not None:
        return run_code(lab, name)
    return code("""
        {model}
        from viz_core.run import trace
        {name} = trace(model, batch)
        """, model=model_code(lab), name=Source(name))


def below(above: Source, lines: Source) -> Source:
    """Append lines to others about the same model, without the lines that both have, such as those of its config."""
    existing = set(above.splitlines())
    return code("""
        {above}
        {lines}
        """, above=above, lines=Source("\n".join(line for line in lines.splitlines() if line not in existing)))


def two_runs_code(a: Lab, b: Lab) -> Source:
    """Return the lines that make the runs A and B as `a` and `b`."""
    if b.altered is not None:  # its code makes A first
        return run_code(b, "b")
    if a.model_key() == b.model_key():
        return below(run_code(a, "a"), run_code(b, "b"))
    return Source(run_code(a, "a") + run_code(b, "b"))


def both_code(two: TwoRuns) -> Source:
    """Return the lines that make the runs `a` and `b`, and `both`, their selected sentence aligned."""
    return code("""
        {runs}
        from viz_core.analysis.two_runs import together
        both = together(a, b, {item_a}, {item_b})
        """, runs=two_runs_code(two.a, two.b), item_a=two.both.item_a, item_b=two.both.item_b)


# ---------------------------------------------------------------- token names


def tokenizers_code(lab: Lab, item: int, run: str = "capture", name: str = "readers") -> Source:
    """Return the line that makes the tokenizers as they name the tokens of one sentence. It follows the lines of the run."""
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
    """Return the `glosses` argument of a picture, or "" where dictionary words are switched off."""
    return Source(", glosses=weights.glosses" if shown_glosses() else "")


def word_code(lab: Lab, side: str, item: int, run: str = "capture", name: str = "word") -> Source:
    """Return the lines that make a function from a token id to its name in one sentence. They follow the lines of the run."""
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
