"""The target that the model writes: decoded once for all visitors, read by runs, and shown in the sidebar's box."""

from dataclasses import replace
from typing import TYPE_CHECKING

from viz_core.analysis.counts import estimate
from viz_core.language import translate as _
from viz_core.text import SPECIALS
from viz_core.ui.escape import few, words
from viz_core.ui.shell.setup import Setup, beside_source, line_numbers, problem_words, sentences, source_lines
from viz_core.ui.shell.warm import home_imported

if TYPE_CHECKING:
    from viz_core.generate import Written
    from viz_core.run import Batch

UNKNOWN = SPECIALS[3]
MAX_NAMED = 6  # tokens that cannot be typed and are named one by one


def written(setup: Setup) -> "tuple[Written, ...]":
    """What the model writes for each sentence of the source, or what it wrote before. `ValueError`, one sentence, if it cannot."""
    home_imported()
    from viz_core.generate import unwritten
    from viz_core.ui.shell.cache import cached_writing

    assert setup.card is not None
    source = sentences(setup)[0]
    batch = unwritten(setup.config, source, setup.card.tokenizers())
    check_table(setup, batch)
    n, length = batch.ids["source"].shape
    if problem := estimate(setup.config, n, length, 1).problem:
        raise ValueError(problem_words(problem))  # the problem itself is kept, and raised it would keep these frames
    return cached_writing(setup.weights, setup.config, source, batch, setup.seed, setup.device)


def check_table(setup: Setup, batch: "Batch") -> None:
    """`ValueError` if a sentence is longer than the position table of trained weights."""
    longest = max(ids.shape[1] for ids in batch.ids.values())
    if setup.card and setup.config.has_position_table and longest > setup.config.max_len:
        tokens = _("the longest sentence has {values:,} tokens", values=longest)
        raise ValueError(_("These weights have {max_len:,} positions and {longest}: shorten it.",
                           max_len=setup.config.max_len, longest=tokens))


def text_written(setup: Setup) -> str:
    """The text of the target's box where the model writes; "" if it cannot, and then the page says why."""
    try:
        return box_text(setup, written(setup))
    except ValueError:
        return ""


def box_text(setup: Setup, lines: "tuple[Written, ...]") -> str:
    """What was written as the text of the target's box: one line beside each line of the source."""
    return beside_source(setup, [line.text for line in lines])


def taken_over(before: Setup, after: Setup) -> Setup:
    """The setup after a change; where the model no longer writes, its text stays as the target: as the visitor's if the model
    could write, and otherwise marked as taken over, so that nothing takes it for typed text."""
    takes_over = before.writer == "model" and after.writer == "typed" and after.reads_translation
    if not takes_over or (before.source, after.default_texts[1]) != (after.source, after.target):  # other texts came with it
        return after
    return replace(after, target=text_written(before), writer="typed" if after.translates else "taken")


def writing_notes(setup: Setup, lines: "tuple[Written, ...]") -> list[str]:
    """Sentences about what was cut off, and about written tokens that are no words."""
    assert setup.card is not None
    notes, tokenizer = [], setup.card.tokenizers()["target"]
    if cut := [number for number, line in zip(source_lines(setup), lines, strict=True) if not line.ended]:
        longest = max(len(line.text.split()) for line in lines)
        notes.append(_("The model did not come to an end in {line_numbers}: its text stops after {longest} words.",
                       line_numbers=line_numbers(cut), longest=longest))
    strange = [word for line in lines if not line.typeable for word in line.text.split() if tokenizer.read(word)[0] != [word]]
    if strange:
        others = [word for word in dict.fromkeys(strange) if word != UNKNOWN]
        if UNKNOWN in strange:
            notes.append(_("The model wrote `<unk>`, the token for all words that the model does not know."))
        if others:
            notes.append(_("The model wrote {words}, which nobody can type: they are tokens, but no words.",
                           words=few([words([word]) for word in others], MAX_NAMED)))
    return notes
