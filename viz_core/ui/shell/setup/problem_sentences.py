"""Problems of settings and inputs in words: one sentence for each code of `viz_core.problems.Problem`.

A sentence may name the values of its problem; `{setting}` and `{shown}` are the field and its value as the sidebar writes them.
"""

from collections.abc import Sequence

from viz_core.problems import Problem
from viz_core.ui.shell.setup.controls import BY_FIELD

SENTENCES = {
    # A setting
    "value": "{setting} cannot be {shown}; choose another value.",
    "heads_split": "{setting} {shown} does not split into {heads} equal heads; choose {fits}.",
    "pad_outside": "{setting} {shown} is outside the vocabulary of {size} words; choose an id from 0 to {last}.",
    "odd_width": "RoPE rotates pairs of features, and a head's query is {width} wide; choose an even width, as with qk_dim {fits}.",
    "norm_missing": "{setting} has no effect in a model without LayerNorms; turn it off, or choose where the LayerNorms stand.",
    "segments_without_encoder": "{setting} belong to an encoder, and this model has none; choose 0.",
    "logits_needed": "{setting} cannot be off in a model with a decoder, which ends in logits; turn it on.",
    "logits_missing": "{setting} needs the matrix of the vocabulary logits, which are off; turn the logits on, or "
                      "{setting} off.",
    "padding_shown": "{setting} has no effect where no padding is masked; turn on the padding mask of a side first.",
    # A run
    "device": "The device {device} is not on this machine; choose another device.",
    "sides_differ": "There are {sources} source sentences and {targets} target sentences; type one target for each source.",
    "no_sentences": "The model needs {side} sentences, and there are none; type at least one.",
    "sentences": "There are {count} {side} sentences, and the limit is {limit}; remove some lines.",
    "not_a_sentence": "Sentence {number} of the {side} is neither text nor ids; type words or whole numbers.",
    "no_tokens": "Sentence {number} of the {side} has no tokens; type at least one word.",
    "tokens": "Sentence {number} of the {side} has {count} tokens, and the limit is {limit}; shorten it.",
    "id_outside": "The {side} id {id} is outside the vocabulary, which has the ids 0 to {last}.",
    "max_len": "This sentence has {tokens} tokens, and the position table has {max_len} rows (max_len); shorten the sentence, raise "
               "max_len, or choose positions without a table.",
    "weights": "These weights do not fit this model; change it back.",
    "tied": "These weights were trained with another choice of Tied output; change it back.",
}
SIDES = {"source": "source", "target": "target"}


def problem_words(error: ValueError) -> str:
    """One sentence about an error: the page's own for a `Problem`, else the error's text, which a page wrote."""
    if not isinstance(error, Problem):
        return str(error)
    values = {name: _shown(value) for name, value in error.values.items()}
    if "side" in values:
        values["side"] = SIDES[values["side"]]
    if (field := error.values.get("field")) in BY_FIELD:
        control = BY_FIELD[str(field)]
        values |= {"setting": control.label, "shown": control.shown(error.values["value"])}
    elif field:
        values |= {"setting": values["field"], "shown": values["value"]}
    return SENTENCES[error.code].format(**values)


def _shown(value: object) -> str:
    """A number with its thousands apart, several as alternatives, anything else as it is."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " or ".join(map(_shown, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
