"""The trace of one generated text: the logits, the random numbers and the beams of every step.

The ids are those of `viz_core.generate.generate`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from viz_core.config import SIDE_NAMES
from viz_core.generate.beam import BeamSearch, beam_search
from viz_core.generate.incremental import IncrementalDecoder, available_length, init_decoder
from viz_core.generate.sampling import random_numbers, sample
from viz_core.generate.strategy import Beam, Greedy, Sampling, Strategy, check_max_new_tokens
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer


@dataclass(frozen=True, slots=True, eq=False)
class GenerationTrace:
    """The steps of one generation; arrays are read-only.

    ids: the N generated ids, including <eos> if it was generated. logits [N, W]: the logits from which each token was chosen,
    float32. random_numbers [N]: the random number of each step; 0 unless the strategy is `Sampling`. logprobs [N]: ln of the
    model's probability of each token, without temperature or filters. search: the beam search that chose `ids`; None for other
    strategies. has_ended: whether <eos> was generated.
    """

    ids: tuple[int, ...]
    logits: np.ndarray
    random_numbers: np.ndarray
    logprobs: np.ndarray
    search: BeamSearch | None
    has_ended: bool

    def with_start(self, start: Sequence[int], stop: int | None = None) -> list[int]:
        """Return the first ids of the decoder and the generated ones. stop: of the generated ids, as in a slice."""
        return [*start, *self.ids[:stop]]


@torch.inference_mode()
def trace_generation(
    model: Transformer, start: Sequence[int], source: Sequence[int] | None = None, *, eos_id: int, max_new_tokens: int,
    strategy: Strategy = Greedy(), forced_ids: Sequence[int] = (),  # noqa: B008, it is frozen
) -> GenerationTrace:
    """Generate one text as `generate` does for its first row, and return all steps.

    start: the first ids of the decoder, at least <bos>. source: the ids of the encoder. forced_ids: the first generated ids,
    whatever the strategy; beam search starts after them. Raises `ValueError` as `generate` does.
    """
    if not len(start):
        raise UserError("no_tokens", side=SIDE_NAMES["target"], number=1)
    first, source_row = _row(model, start), None if source is None else _row(model, source)
    longest = available_length(model, len(start), check_max_new_tokens(max_new_tokens))
    forced_ids, search = list(forced_ids)[:longest], None
    if isinstance(strategy, Beam) and eos_id not in forced_ids and len(forced_ids) < longest:
        prompt = torch.cat((first, _row(model, forced_ids)), dim=1) if forced_ids else first  # [1, T]
        search = beam_search(
            init_decoder(model, prompt, source_row), prompt, strategy, eos_id=eos_id, max_new_tokens=longest - len(forced_ids)
        )
        forced_ids = [*forced_ids, *search.chosen.ids, *([eos_id] if search.chosen.has_ended else [])]
        longest = len(forced_ids)
    numbers = random_numbers(strategy.seed, 0, longest) if isinstance(strategy, Sampling) else np.zeros(longest)
    ids, logits = _generate_steps(init_decoder(model, first, source_row), first, forced_ids, numbers, strategy, eos_id, longest)
    logprobs = logits.double().log_softmax(dim=-1).numpy()[np.arange(len(ids)), ids]  # [N]
    arrays = logits.numpy(), np.array(numbers[: len(ids)]), logprobs
    for array in arrays:
        array.flags.writeable = False
    return GenerationTrace(tuple(ids), *arrays, search, eos_id in ids)


def _generate_steps(
    decoder: IncrementalDecoder,
    new_ids: Tensor,
    forced_ids: Sequence[int],
    numbers: np.ndarray,
    strategy: Strategy,
    eos_id: int,
    max_new_tokens: int,
) -> tuple[list[int], Tensor]:
    """Return the ids [N] and the logits [N, W] from which each was chosen, up to <eos> or `max_new_tokens` tokens."""
    ids, rows = list[int](), list[Tensor]()
    while len(ids) < max_new_tokens and eos_id not in ids[-1:]:
        logits, decoder = decoder.step(new_ids)  # [1, W]
        rows.append(logits[0].float().cpu())
        ids.append(
            forced_ids[len(ids)] if len(ids) < len(forced_ids) else _next_token(logits[0], strategy, float(numbers[len(ids)]))
        )
        new_ids = torch.tensor([[ids[-1]]], device=logits.device)  # [1, 1]
    return ids, torch.stack(rows)


def _next_token(logits: Tensor, strategy: Strategy, u: float) -> int:
    if isinstance(strategy, Sampling):
        return sample(logits.cpu().numpy(), strategy, u).token
    return int(logits.argmax())


def _row(model: Transformer, ids: Sequence[int]) -> Tensor:
    return torch.tensor([list(ids)], device=next(model.parameters()).device)  # [1, T]
