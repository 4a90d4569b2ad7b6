"""The prompt of a generated text, the decoding strategy, and the trace of the generation."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from viz_core.capture import Capture
from viz_core.config.limits import MAX_NEW_TOKENS
from viz_core.generate.strategy import Beam, Greedy, Sampling, Strategy
from viz_core.generate.trace import GenerationTrace, trace_generation
from viz_core.messages import translate as _
from viz_core.text import NO_TOKEN
from viz_core.ui.escape import escaped
from viz_core.ui.shell import PageContext, current_setup, mark_activity, url_param
from viz_core.ui.shell.session.state import LINK_ERRORS, SETUP
from viz_core.ui.shell.setup import error_message, with_weights
from viz_core.weights.catalogue import catalogue, shipped_names

SECONDS_PER_TOKEN = 0.004  # roughly, for a small model to generate a token and keep its logits


@dataclass(frozen=True, slots=True)
class Prompt:
    """The ids of one sentence that generation starts from.

    item: the sentence. source: the ids of the encoder; None without one. target: the ids of the decoder, <bos> first. labels: the
    next id at each position of the target, <eos> last. A model without <bos> or <eos> has none. n_bos: 1, or 0 without <bos>.
    """

    item: int
    source: tuple[int, ...] | None
    target: tuple[int, ...]
    labels: tuple[int, ...]
    n_bos: int = 1

    @property
    def n_typed(self) -> int:
        """The number of typed tokens of the target."""
        return len(self.target) - self.n_bos

    def start_ids(self) -> tuple[int, ...]:
        """Return the ids read before the first token is generated: with an encoder <bos> alone, else a part of the typed text."""
        return self.target[: self.n_bos + self.n_given()]

    def n_given(self) -> int:
        """Return how many typed tokens are given: the number in the link, or half of them by default.

        A model without <bos> needs at least one.
        """
        if self.source is not None:
            return 0
        requested = url_param("write_from")
        return max(1 - self.n_bos, self.n_typed // 2 if requested < 0 else min(requested, self.n_typed))


def prompt_of(context: PageContext) -> Prompt | None:
    """Return the prompt of the selected sentence; None if there is no run, or the model has no decoder."""
    if context.capture is None or not context.config.has_decoder:
        return None
    capture, item = context.capture, context.selected_item(context.capture)
    rows = {side: _ids(capture, side, item) for side in ("source", "target", "labels") if f"ids.{side}" in capture}
    opened = 0 if context.tokenizers["target"].bos_id == NO_TOKEN else 1
    return Prompt(item, rows.get("source"), rows["target"], rows["labels"], opened)


def _ids(capture: Capture, side: str, item: int) -> tuple[int, ...]:
    """Return the ids of one sentence without padding."""
    ids: list[int] = capture[f"ids.{side}"][item].tolist()
    return tuple(ids[: max(1, capture.length(side, item))])


def show_decoder_needed() -> None:
    """Explain that generation needs a decoder, with buttons for weights that have one."""
    st.markdown(_("**This model cannot write: it has an encoder alone.** An encoder reads a whole sentence at once. Only a decoder "
                  "predicts the next token from the tokens before it, and every decoder of this app has a vocabulary head for "
                  "that. These trained models write:"))
    with st.container(horizontal=True, key="write_offers"):
        for name in shipped_names():
            if name in catalogue():
                st.button(escaped(catalogue()[name].title), key=f"write_open_{name}", on_click=_choose_weights, args=(name,))


def _choose_weights(name: str) -> None:
    """Choose weights that can generate; for callbacks."""
    mark_activity()
    st.session_state[SETUP], st.session_state[LINK_ERRORS] = with_weights(current_setup(), name), []


# ---------------------------------------------------------------- the generated text


def chosen_strategy() -> Strategy:
    """Return the decoding strategy of the link."""
    if url_param("write_strategy") == "sampling":
        return Sampling(
            temperature=url_param("write_temperature"),
            top_k=url_param("write_top_k") or None,
            top_p=url_param("write_top_p"),
            seed=url_param("write_seed"),
        )
    if url_param("write_strategy") == "beam":
        return Beam(num_beams=url_param("write_beams"), length_penalty=url_param("write_penalty"))
    return Greedy()


def model_id(context: PageContext) -> Hashable:
    """Return the key of the model in the cache."""
    from viz_core.ui.shell.caching.server_cache import model_key

    return model_key(context.setup.weights, context.config, context.setup.seed, context.setup.device)


def max_new_tokens() -> int:
    """Return the largest number of tokens to generate."""
    return min(url_param("write_most"), MAX_NEW_TOKENS)


def generation_trace(
    context: PageContext, prompt: Prompt, strategy: Strategy, given: tuple[int, ...] = ()
) -> GenerationTrace | None:
    """Return the trace of the generated text, cached for all visitors. given: ids that the text starts with.

    Returns None, after a warning on the page, if the text cannot be generated.
    """
    from viz_core.ui.shell.caching.server_cache import cached_result

    most, start = max_new_tokens(), prompt.start_ids()
    eos = context.tokenizers["target"].eos_id

    def make() -> GenerationTrace:
        return trace_generation(
            context.model(), start, prompt.source, eos_id=eos, max_new_tokens=most, strategy=strategy, forced_ids=given
        )

    try:
        return cached_result(
            "trail",
            (model_id(context), start, prompt.source, most, strategy, given),
            make,
            SECONDS_PER_TOKEN * most,
            4 * most * context.config.output_vocab_size,
        )
    except ValueError as error:
        st.warning(escaped(error_message(error)))
        return None


def run_of_text(context: PageContext, prompt: Prompt, start: tuple[int, ...], written: tuple[int, ...]) -> Capture:
    """Return the run that reads the prompt and the generated ids as one target. written: with or without a final <eos>."""
    from viz_core.generate import decoder_batch
    from viz_core.ui.shell.caching.server_cache import cached_run

    assert context.batch is not None
    words: dict[str, Callable[[int], str]] = {
        side: partial(context.token_name, side, item=prompt.item) for side in context.config.sides
    }
    batch = decoder_batch(
        (*start, *written), prompt.source, token_names=words, copied_words=context.batch.copied_words[prompt.item : prompt.item + 1]
    )
    return cached_run(context.setup.weights, context.config, batch, context.setup.seed, context.setup.device)
