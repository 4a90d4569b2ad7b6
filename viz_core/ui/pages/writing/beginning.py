"""The prompt of a generated text, the decoding strategy, and the trace of the generation."""

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

SECONDS = 0.004  # roughly, for a small model to generate a token and keep its logits


@dataclass(frozen=True, slots=True)
class Beginning:
    """The ids of one sentence that generation starts from.

    item: the sentence. source: the ids of the encoder; None without one. target: the ids of the decoder, <bos> first. labels: the
    next id at each position of the target, <eos> last. A model without <bos> or <eos> has none. n_bos: 1, or 0 without <bos>.
    """

    item: int
    source: tuple[int, ...] | None
    target: tuple[int, ...]
    labels: tuple[int, ...]
    opened: int = 1

    @property
    def words(self) -> int:
        """The number of typed tokens of the target."""
        return len(self.target) - self.opened

    def start(self) -> tuple[int, ...]:
        """Return the ids read before the first token is generated: with an encoder <bos> alone, else a part of the typed text."""
        return self.target[: self.opened + self.given()]

    def given(self) -> int:
        """Return how many typed tokens are given: the number in the link, or half of them by default.

        A model without <bos> needs at least one.
        """
        if self.source is not None:
            return 0
        requested = view("write_from")
        return max(1 - self.opened, self.words // 2 if requested < 0 else min(requested, self.words))


def beginning(lab: Lab) -> Beginning | None:
    """Return the prompt of the selected sentence; None if there is no run, or the model has no decoder."""
    if lab.capture is None or not lab.config.has_decoder:
        return None
    capture, item = lab.capture, lab.item(lab.capture)
    rows = {side: _ids(capture, side, item) for side in ("source", "target", "labels") if f"ids.{side}" in capture}
    opened = 0 if lab.tokenizers["target"].bos_id == NO_TOKEN else 1
    return Beginning(item, rows.get("source"), rows["target"], rows["labels"], opened)


def _ids(capture: Capture, side: str, item: int) -> tuple[int, ...]:
    """Return the ids of one sentence without padding."""
    ids: list[int] = capture[f"ids.{side}"][item].tolist()
    return tuple(ids[: max(1, capture.length(side, item))])


def needs_a_decoder() -> None:
    """Explain that generation needs a decoder, with buttons for weights that have one."""
    st.markdown(_("**This model cannot write: it has an encoder alone.** An encoder reads a whole sentence at once. Only a decoder "
                  "predicts the next token from the tokens before it, and every decoder of this app has a vocabulary head for "
                  "that. These trained models write:"))
    with st.container(horizontal=True, key="write_offers"):
        for name in PLANS:
            if name in catalogue():
                st.button(escaped(catalogue()[name].title), key=f"write_open_{name}", on_click=_open, args=(name,))


def _open(name: str) -> None:
    """Choose weights that can generate; for callbacks."""
    touch()
    st.session_state[SETUP], st.session_state[FAULTS] = with_weights(current(), name), []


# ---------------------------------------------------------------- the generated text


def strategy() -> Strategy:
    """Return the decoding strategy of the link."""
    if view("write_strategy") == "sampling":
        return Sampling(temperature=view("write_temperature"), top_k=view("write_top_k") or None, top_p=view("write_top_p"),
                        seed=view("write_seed"))
    if view("write_strategy") == "beam":
        return Beam(num_beams=view("write_beams"), length_penalty=view("write_penalty"))
    return Greedy()


def model_id(lab: Lab) -> Hashable:
    """Return the key of the model in the cache."""
    from viz_core.ui.shell.cache import model_key

    return model_key(lab.setup.weights, lab.config, lab.setup.seed, lab.setup.device)


def longest() -> int:
    """Return the largest number of tokens to generate."""
    return min(view("write_most"), MAX_WRITTEN)


def trail_of(lab: Lab, begun: Beginning, how: Strategy, given: tuple[int, ...] = ()) -> Trail | None:
    """Return the trace of the generated text, cached for all visitors. given: ids that the text starts with.

    Returns None, after a warning on the page, if the text cannot be generated.
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
    """Return the run that reads the prompt and the generated ids as one target. written: with or without a final <eos>."""
    from viz_core.generate import reading
    from viz_core.ui.shell.cache import cached_run

    assert lab.batch is not None
    words: dict[str, Callable[[int], str]] = {side: partial(lab.word, side, item=begun.item) for side in lab.config.sides}
    batch = reading((*start, *written), begun.source, words=words, carried=lab.batch.carried[begun.item : begun.item + 1])
    return cached_run(lab.setup.weights, lab.config, batch, lab.setup.seed, lab.setup.device)
