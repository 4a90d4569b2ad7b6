"""One text written, with everything that was known at each step: the logits, the drawn numbers, the beams.

`viz_core.generate.generate` gives the same words; a trail keeps how they came about.
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
    """What was written behind a start, step by step; arrays are read-only.

    ids: the N words, <eos> with them where the text came to it. logits [N, W]: those from which each word was chosen, float32.
    numbers [N]: the drawn number of each step; all 0 unless the strategy is `Sampling`. logprobs [N]: ln of the model's own
    probability of each word. search: the whole beam search, of which `ids` is the chosen text; None for other strategies.
    ended: whether the text came to <eos>.
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
    """Write behind one start, as `generate` does for its first row, and keep every step.

    start: the ids that the decoder has read, <bos> at least. source: the ids that an encoder reads. given: words that are
    written first whatever the strategy says, as where a reader has chosen them; beam search then begins behind them.
    `ValueError` as for `generate`.
    """
    if not len(start):
        raise Problem("start has no ids; begin with <bos>.", "no_tokens", side="target", number=1)
    first, read = _row(model, start), None if source is None else _row(model, source)
    longest = room(model, len(start), checked_length(max_new_tokens))
    given, search = list(given)[:longest], None
    if isinstance(strategy, Beam) and eos_id not in given and len(given) < longest:
        behind = torch.cat((first, _row(model, given)), dim=1) if given else first  # [1, T]
        search = beam_search(open_reader(model, behind, read), behind, strategy, eos_id=eos_id, longest=longest - len(given))
        given = [*given, *search.chosen.ids, *([eos_id] if search.chosen.ended else [])]
        longest = len(given)
    numbers = drawn_numbers(strategy.seed, 0, longest) if isinstance(strategy, Sampling) else np.zeros(longest)
    ids, logits = _follow(open_reader(model, first, read), first, given, numbers, strategy, eos_id, longest)
    rows = logits.double().log_softmax(dim=-1).numpy()[np.arange(len(ids)), ids]  # [N]
    arrays = logits.numpy(), np.array(numbers[: len(ids)]), rows
    for array in arrays:
        array.flags.writeable = False
    return Trail(tuple(ids), *arrays, search, eos_id in ids)


def _follow(
    reader: Reader, new: Tensor, given: Sequence[int], numbers: np.ndarray, strategy: Strategy, eos_id: int, longest: int
) -> tuple[list[int], Tensor]:
    """The words [N] and the logits [N, W] behind which each was chosen, up to <eos> or to `longest` words."""
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
