"""The target that the model generates: decoded once for all visitors, used by runs, and shown in the sidebar's text box."""

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from viz_core.analysis.size_estimates import estimate_size
from viz_core.messages import translate as _
from viz_core.messages.errors import UserError
from viz_core.text import SPECIALS
from viz_core.ui.escape import code_spans, first_few
from viz_core.ui.shell.caching.preload import preload_home
from viz_core.ui.shell.setup import (
    Setup,
    aligned_to_source,
    format_line_numbers,
    source_line_numbers,
    typed_sentences,
)

if TYPE_CHECKING:
    from viz_core.generate import Generation
    from viz_core.run import Batch

UNKNOWN = SPECIALS[3]
MAX_NAMED = 6  # tokens that cannot be typed: how many are listed


def generate_targets(setup: Setup) -> "tuple[Generation, ...]":
    """Return what the model generates for each source sentence, from the cache if possible.

    Raises `ValueError` with one sentence if it cannot.
    """
    preload_home()
    from viz_core.generate import initial_batch
    from viz_core.ui.shell.caching.server_cache import cached_generations

    assert setup.card is not None
    batch = initial_batch(setup.config, typed_sentences(setup)[0], setup.card.tokenizers())
    check_position_table(setup, batch)
    n, length = batch.ids["source"].shape
    if problem := estimate_size(setup.config, n, length, 1).problem:
        raise copy(problem)  # raising the cached one would keep these frames alive
    return cached_generations(setup.weights, setup.config, batch, setup.seed, setup.device)


def check_position_table(setup: Setup, batch: "Batch") -> None:
    """Raise `ValueError` if a sentence is longer than the position table of trained weights."""
    longest = max(ids.shape[1] for ids in batch.ids.values())
    if setup.card and setup.config.has_position_table and longest > setup.config.max_len:
        raise UserError("positions_of_weights", max_len=setup.config.max_len, tokens=longest)


def generated_text(setup: Setup) -> str:
    """Return the generated text for the target's text box; "" if the model cannot write it, in which case the page says why."""
    try:
        return target_box_text(setup, generate_targets(setup))
    except ValueError:
        return ""


def target_box_text(setup: Setup, lines: "tuple[Generation, ...]") -> str:
    """Return generated targets as the text of the target's text box: one line for each line of the source."""
    return aligned_to_source(setup, [line.text for line in lines])


def keep_generated_target(before: Setup, after: Setup) -> Setup:
    """Return the setup after a change, with the generated text as its target if the model stops writing it.

    The new writer is "typed" if the model of `after` can write targets too, otherwise "taken": such a text does not count as
    typed.
    """
    keeps_text = before.writer == "model" and after.writer == "typed" and after.reads_translation
    if not keeps_text or (before.source, after.default_texts[1]) != (after.source, after.target):  # the change has its own texts
        return after
    return replace(after, target=generated_text(before), writer="typed" if after.translates else "taken")


def generation_notes(setup: Setup, lines: "tuple[Generation, ...]") -> list[str]:
    """Return notes about text that was cut off, and about generated tokens that are not words."""
    assert setup.card is not None
    notes, tokenizer = [], setup.card.tokenizers()["target"]
    if cut := [number for number, line in zip(source_line_numbers(setup), lines, strict=True) if not line.has_ended]:
        longest = max(len(line.text.split()) for line in lines)
        notes.append(_("The model did not finish in {line_numbers}: its text stops after {longest} words.",
                       line_numbers=format_line_numbers(cut), longest=longest))
    strange = [
        word for line in lines if not line.is_typeable for word in line.text.split() if tokenizer.tokens_and_ids(word)[0] != [word]
    ]
    if strange:
        others = [word for word in dict.fromkeys(strange) if word != UNKNOWN]
        if UNKNOWN in strange:
            notes.append(_("The model wrote `<unk>`, the token for all words that the model does not know."))
        if others:
            notes.append(_("The model wrote {words}, which cannot be typed: they are tokens, but not words.",
                           words=first_few([code_spans([word]) for word in others], MAX_NAMED)))
    return notes
