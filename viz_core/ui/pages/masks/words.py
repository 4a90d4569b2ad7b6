"""Sentences on the results of `analysis.masks` and `experiments.masks`."""

from collections.abc import Callable, Sequence

from viz_core.analysis.masks import Reason, Values
from viz_core.config import TransformerConfig
from viz_core.figures.masks import stop_words
from viz_core.formats import brief, rounded
from viz_core.language import plural
from viz_core.language import translate as _

NO_TWIN = {
    "qk_width": _("It makes queries d_model={d_model} wide, and here they are {qk_width}."),
    "rotated": _("It cannot rotate queries and keys, as RoPE does."),
    "unscaled": _("It always divides by √d_k, which is switched off here."),
}


def reason_words(r: Reason, name: Callable[[str], str] = str) -> str:
    """Return why a query may or may not attend to a key. format_token: how to write a token."""
    query, key = f"{name(r.query)} ({r.row})", f"{name(r.key)} ({r.col})"
    if r.allowed:
        sentences = [_("{query} may attend to {key}.", query=query, key=key), _why_allowed(r)]
        if r.key_is_padding:
            sentences.append(_("The key is padding, but this attention does not mask padding."))
        return " ".join(sentences)
    sentences = [_("{query} may not attend to {key}.", query=query, key=key)]
    if r.hides_key:
        sentences.append(_("The key is padding."))
    if r.hides_query:
        sentences.append(_("The query is padding, and padded queries are masked."))
    if r.hides_future:
        sentences.append(_("The key is {positions} later, and the causal mask blocks later tokens.", positions=_positions(r.apart)))
    if r.empty:
        sentences.append(_("{query} may attend to no key at all.", query=query))
    return " ".join(sentences)


def _why_allowed(r: Reason) -> str:
    if r.apart is None:
        return _("The whole source is known before the decoder starts.")
    if r.apart == 0:
        return _("A token may attend to itself.")
    if r.causal:
        return _("The key is {positions} earlier.", positions=_positions(r.apart))
    if r.apart > 0:
        return _("The key is {positions} later, and this attention has no causal mask.", positions=_positions(r.apart))
    return _("The key is {positions} earlier, and this attention has no causal mask.", positions=_positions(r.apart))


def _positions(apart: int | None) -> str:
    return plural("{n:,} position", "{n:,} positions", abs(apart or 0))


def values_words(x: Values) -> str:
    """Return a summary of an array: "NaN", "0", "0.2 each", "from −1.1 to 0.9", or how many of its numbers are NaN."""
    if x.n_nan:
        return "NaN" if x.n_nan == x.size else _("NaN in {n_nan:,} of {size:,}", n_nan=x.n_nan, size=x.size)
    if x.all_equal:
        return "0" if x.low == 0 else _("{low} each", low=rounded(x.low, 4))
    return _("from {low} to {high}", low=rounded(x.low, 3), high=rounded(x.high, 3))


def no_twin_words(reasons: Sequence[str], config: TransformerConfig) -> str:
    """Return why torch.nn.MultiheadAttention cannot hold an attention's parameters: one sentence for each reason."""
    return " ".join(NO_TWIN[reason].format(d_model=config.d_model, qk_width=brief(config.qk_width)) for reason in reasons)


def where_words(layer: int | None) -> str:
    """Return "in the embedding", or the name of a layer for use within a sentence."""
    return _("in the embedding") if layer is None else stop_words(layer)
