"""Notes on source words that a translation may have left out."""

from viz_core.analysis.coverage import coverage, uncovered_positions
from viz_core.capture import Capture
from viz_core.messages import plural
from viz_core.messages import translate as _
from viz_core.messages.number_format import percent
from viz_core.text import display_token, in_quotes, shorten
from viz_core.ui.escape import escaped, first_few
from viz_core.ui.shell import PageContext
from viz_core.ui.shell.setup import changed_fields

MAX_NAMED_WORDS = 4  # words that are listed


def untranslated_words_note(context: PageContext, capture: Capture, item: int) -> str:
    """Return a note on the content words of the source for which the alignment heads find no word of the target.

    "" if there are none, or if no detector was measured for these weights. capture: a run whose target is the translation.
    """
    detector = context.setup.card.lost_words if context.setup.card is not None else None
    if detector is None or changed_fields(context.setup) or "probs" not in capture:
        return ""
    tokens = capture.tokens("source")[item]
    heads, eos_id = (detector.predicting_head, detector.reading_head), context.tokenizers["target"].eos_id
    covered = coverage(capture, *heads, eos_id=eos_id, item=item)
    lost = [escaped(in_quotes(shorten(display_token(tokens[s])))) for s in uncovered_positions(tokens, covered, detector.threshold)]
    return plural("The alignment heads find no word of the translation for {words}, so its meaning may be missing.",
                  "The alignment heads find no word of the translation for {words}, so their meaning may be missing.", len(lost),
                  words=first_few(lost, MAX_NAMED_WORDS)) if lost else ""


def untranslated_words_help(context: PageContext) -> str | None:
    """Return how untranslated words are detected, and how reliably; None for weights without a detector."""
    detector = context.setup.card.lost_words if context.setup.card is not None else None
    if detector is None:
        return None
    return _("A word is found if two heads of cross-attention give it enough weight: head {writer} of layer {writer_layer} where "
             "a word is written, and head {reader} of layer {reader_layer} where that word is read. Small words such as “the” are "
             "left out. On held-out sentences, {alarms} of the content words that were left out of a translation were "
             "found, and {false_alarms} of the right translations had a false alarm.",
             writer_layer=detector.predicting_head[0], writer=detector.predicting_head[1],
             reader_layer=detector.reading_head[0], reader=detector.reading_head[1],
             alarms=percent(detector.detection_rate), false_alarms=percent(detector.false_alarm_rate))
