"""What a text begins with: the ids that the decoder has read, the source, the strategy; and the trail that follows from them."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from viz_core.capture import Capture
from viz_core.generation.strategy import Beam, Greedy, Sampling, Strategy
from viz_core.generation.trail import Trail, write_trail
from viz_core.language import translate as _
from viz_core.limits import MAX_WRITTEN
from viz_core.text import NO_TOKEN
from viz_core.training.plans import PLANS
from viz_core.ui.escape import escaped
from viz_core.ui.shell import Lab, current, touch, view
from viz_core.ui.shell.setup import problem_words, with_weights
from viz_core.ui.shell.state import FAULTS, SETUP
from viz_core.weights.catalogue import catalogue

SECONDS = 0.004  # in which a small model writes a word and keeps its logits, roughly


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the decoder of this run reads before it writes. item: the sentence. source: the ids of the encoder, None without one.
    target: the ids of the decoder, <bos> first. labels: what the run's target goes on with at each place, <eos> last; where a model
    has no <bos> or no <eos>, without it. opened: the ids in front of the typed ones, 1 or 0."""

    item: int
    source: tuple[int, ...] | None
    target: tuple[int, ...]
    labels: tuple[int, ...]
    opened: int = 1

    @property
    def words(self) -> int:
        """The typed words, in tokens."""
        return len(self.target) - self.opened

    def start(self) -> tuple[int, ...]:
        """What is read before the first word is written: with an encoder <bos> alone, else a part of the typed text."""
        return self.target[: self.opened + self.given()]

    def given(self) -> int:
        """The typed words that are given: as many as the link says, as far as there are any; half of them where it does not.

        A model without <bos> needs one word to go on from.
        """
        if self.source is not None:
            return 0
        asked = view("write_from")
        return max(1 - self.opened, self.words // 2 if asked < 0 else min(asked, self.words))


def beginning(lab: Lab) -> Beginning | None:
    """The beginning of the selected sentence; None where nothing runs, or nothing can be written."""
    if lab.capture is None or not lab.config.has_decoder:
        return None
    capture, item = lab.capture, lab.item(lab.capture)
    rows = {side: _ids(capture, side, item) for side in ("source", "target", "labels") if f"ids.{side}" in capture}
    opened = 0 if lab.tokenizers["target"].bos_id == NO_TOKEN else 1
    return Beginning(item, rows.get("source"), rows["target"], rows["labels"], opened)


def _ids(capture: Capture, side: str, item: int) -> tuple[int, ...]:
    """The ids of one sentence without the padding behind it."""
    ids: list[int] = capture[f"ids.{side}"][item].tolist()
    return tuple(ids[: max(1, capture.length(side, item))])


def needs_a_decoder() -> None:
    """What the page needs, and weights that have it."""
    st.markdown(_("**This model cannot write: it has an encoder alone.** An encoder reads a whole sentence at once. Only a decoder "
                  "predicts the next token from the tokens before it, and every decoder of this app has a vocabulary head for "
                  "that. These trained models write:"))
    with st.container(horizontal=True, key="write_offers"):
        for name in PLANS:
            if name in catalogue():
                st.button(escaped(catalogue()[name].title), key=f"write_open_{name}", on_click=_open, args=(name,))


def _open(name: str) -> None:
    touch()
    st.session_state[SETUP], st.session_state[FAULTS] = with_weights(current(), name), []


# ---------------------------------------------------------------- the text that follows


def strategy() -> Strategy:
    """How the next word is chosen, as the link says it."""
    if view("write_strategy") == "sampling":
        return Sampling(temperature=view("write_temperature"), top_k=view("write_top_k") or None, top_p=view("write_top_p"),
                        seed=view("write_seed"))
    if view("write_strategy") == "beam":
        return Beam(num_beams=view("write_beams"), length_penalty=view("write_penalty"))
    return Greedy()


def model_id(lab: Lab) -> Hashable:
    """The key of the model in the store."""
    from viz_core.ui.shell.cache import model_key

    return model_key(lab.setup.weights, lab.config, lab.setup.seed, lab.setup.device)


def longest() -> int:
    """The most words that are written."""
    return min(view("write_most"), MAX_WRITTEN)


def trail_of(lab: Lab, begun: Beginning, how: Strategy, given: tuple[int, ...] = ()) -> Trail | None:
    """The text that follows, the given words first, written once for all visitors.

    None where it cannot be written, and then the page says why.
    """
    from viz_core.ui.shell.cache import cached_result

    most, start = longest(), begun.start()
    eos = lab.tokenizers["target"].eos_id

    def make() -> Trail:
        return write_trail(lab.model(), start, begun.source, eos_id=eos, max_new_tokens=most, strategy=how, given=given)

    try:
        return cached_result("trail", (model_id(lab), start, begun.source, most, how, given), make, SECONDS * most,
                             4 * most * lab.config.output_vocab_size)
    except ValueError as error:
        st.warning(escaped(problem_words(error)))
        return None


def whole_run(lab: Lab, begun: Beginning, start: tuple[int, ...], written: tuple[int, ...]) -> Capture:
    """The run that reads the start and what was written behind it, <eos> last or not, as one target."""
    from viz_core.generate import reading
    from viz_core.ui.shell.cache import cached_run

    assert lab.batch is not None
    words: dict[str, Callable[[int], str]] = {side: partial(lab.word, side, item=begun.item) for side in lab.config.sides}
    batch = reading((*start, *written), begun.source, words=words, carried=lab.batch.carried[begun.item : begun.item + 1])
    return cached_run(lab.setup.weights, lab.config, batch, lab.setup.seed, lab.setup.device)
