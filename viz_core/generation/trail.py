"""The trace of one generated text: the logits, the random numbers and the beams of every step.

The ids are those of `viz_core.generate.generate`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from viz_core.generation.beam import BeamSearch, beam_search
from viz_core.generation.draw import draw, drawn_numbers
from viz_core.generation.readers import Reader, open_reader, room
from viz_core.generation.strategy import Beam, Greedy, Sampling, Strategy, checked_length
from viz_core.model.transformer import Transformer
from viz_core.problems import Problem


@dataclass(frozen=True, slots=True, eq=False)
class Trail:
    """The steps of one generation; arrays are read-only.

    ids: the N generated ids, including <eos> if it was generated. logits [N, W]: the logits from which each token was chosen,
    float32. random_numbers [N]: the random number of each step; 0 unless the strategy is `Sampling`. logprobs [N]: ln of the
    model's probability of each token, without temperature or filters. search: the beam search that chose `ids`; None for other
    strategies. has_ended: whether <eos> was generated.
    """

    ids: tuple[int, ...]
    logits: np.ndarray
    numbers: np.ndarray
    logprobs: np.ndarray
    search: BeamSearch | None
    ended: bool


@torch.inference_mode()
def write_trail(
    model: Transformer, start: Sequence[int], source: Sequence[int] | None = None, *, eos_id: int, max_new_tokens: int,
    strategy: Strategy = Greedy(), given: Sequence[int] = (),  # noqa: B008, it is frozen
) -> Trail:
    """Generate one text as `generate` does for its first row, and return all steps.

    start: the first ids of the decoder, at least <bos>. source: the ids of the encoder. forced_ids: the first generated ids,
    whatever the strategy; beam search starts after them. Raises `ValueError` as `generate` does.
    """
    if not len(start):
        raise Problem("start has no ids; begin with <bos>.", "no_tokens", side="target", number=1)
    first, source_row = _row(model, start), None if source is None else _row(model, source)
    longest = room(model, len(start), checked_length(max_new_tokens))
    given, search = list(given)[:longest], None
    if isinstance(strategy, Beam) and eos_id not in given and len(given) < longest:
        prompt = torch.cat((first, _row(model, given)), dim=1) if given else first  # [1, T]
        search = beam_search(open_reader(model, prompt, source_row), prompt, strategy, eos_id=eos_id, longest=longest - len(given))
        given = [*given, *search.chosen.ids, *([eos_id] if search.chosen.ended else [])]
        longest = len(given)
    numbers = drawn_numbers(strategy.seed, 0, longest) if isinstance(strategy, Sampling) else np.zeros(longest)
    ids, logits = _follow(open_reader(model, first, source_row), first, given, numbers, strategy, eos_id, longest)
    logprobs = logits.double().log_softmax(dim=-1).numpy()[np.arange(len(ids)), ids]  # [N]
    arrays = logits.numpy(), np.array(numbers[: len(ids)]), logprobs
    for array in arrays:
        array.flags.writeable = False
    return Trail(tuple(ids), *arrays, search, eos_id in ids)


def _follow(
    reader: Reader, new: Tensor, given: Sequence[int], numbers: np.ndarray, strategy: Strategy, eos_id: int, longest: int
) -> tuple[list[int], Tensor]:
    """Return the ids [N] and the logits [N, W] from which each was chosen, up to <eos> or `max_new_tokens` tokens."""
    ids, rows = list[int](), list[Tensor]()
    while len(ids) < longest and eos_id not in ids[-1:]:
        logits, reader = reader.read(new)  # [1, W]
        rows.append(logits[0].float().cpu())
        ids.append(given[len(ids)] if len(ids) < len(given) else _chosen(logits[0], strategy, float(numbers[len(ids)])))
        new = torch.tensor([[ids[-1]]], device=logits.device)  # [1, 1]
    return ids, torch.stack(rows)


def _chosen(logits: Tensor, strategy: Strategy, u: float) -> int:
    if isinstance(strategy, Sampling):
        return draw(logits.cpu().numpy(), strategy, u).token
    return int(logits.argmax())


def _row(model: Transformer, ids: Sequence[int]) -> Tensor:
    return torch.tensor([list(ids)], device=next(model.parameters()).device)  # [1, T]
