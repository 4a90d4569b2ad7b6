"""Processes that train together take the steps of one process that reads whole batches."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from viz_core.config import TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.training.crew import Crew, together
from viz_core.training.loop import train
from viz_core.training.plans import Recipe

CONFIG = TransformerConfig(
    d_model=16, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, source_vocab_size=10, target_vocab_size=10, dropout=0.0,
    attention_bias=False,  # the gradient of a key's bias is nothing but rounding, which Adam makes as large as any
)
IDS = torch.Generator().manual_seed(1)
REAL = torch.arange(5) < torch.randint(2, 6, (40, 1), generator=IDS)  # [N, T]: rows of two to five words, so shares are unlike
DATA = {
    "source": torch.randint(1, 10, (40, 6), generator=IDS), "target": torch.randint(1, 10, (40, 5), generator=IDS) * REAL,
    "labels": torch.randint(1, 10, (40, 5), generator=IDS) * REAL,
    "alignment": torch.randint(0, 64, (40, 5), generator=IDS) * REAL,
    "referents": torch.randint(0, 64, (40, 5), generator=IDS) * REAL,
}
RECIPE = Recipe(steps=6, batch=7, peak=1e-2, warmup=2)


def weights(model: nn.Module) -> Tensor:
    return nn.utils.parameters_to_vector(model.parameters()).detach()


@pytest.mark.parametrize(("changes", "rounding"), [({}, 1e-5), ({"guide": 0.5}, 1e-5), ({"matrices": 0.02}, 1e-3)], ids=str)
def test_two_processes_take_the_steps_of_one(changes: dict[str, float], rounding: float) -> None:
    """Muon computes its steps in bfloat16, so what is rounded elsewhere differs by more."""
    recipe = replace(RECIPE, **changes)  # type: ignore[arg-type]
    one, two = Transformer(CONFIG, 0), Transformer(CONFIG, 0)
    told: list[int] = []
    alone = train(one, DATA, recipe)
    both = train(two, DATA, replace(recipe, processes=2), lambda step, loss: told.append(step))
    assert told == [1, 2, 3, 4, 5, 6] and both == pytest.approx(alone, rel=rounding)
    torch.testing.assert_close(weights(two), weights(one), atol=2 * rounding, rtol=0)
    assert not torch.equal(weights(two), weights(Transformer(CONFIG, 0)))


def fails_elsewhere(crew: Crew, model: nn.Module) -> None:
    if crew.rank:
        raise ValueError("on purpose")
    crew.add(model, torch.zeros(2))


def test_a_process_that_ends_ends_the_others() -> None:
    with pytest.raises(RuntimeError):
        together(2, fails_elsewhere, Transformer(CONFIG, 0), here={})
