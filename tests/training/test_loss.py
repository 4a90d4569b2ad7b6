"""The loss that is computed some rows at a time, against the loss of the whole logits with torch's own cross-entropy."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from tests.tolerances import EXACT, ROUNDING
from viz_core.config import TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.training.loss import CHUNK_ROWS, chunked_cross_entropy

CONFIG = TransformerConfig(
    d_model=16, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, d_ff=24, source_vocab_size=23, target_vocab_size=23, dropout=0.0,
    max_len=20,
)
MODELS = {
    "encoder-decoder": CONFIG,
    "decoder-only": replace(CONFIG, architecture="decoder-only"),
    "encoder-only": replace(CONFIG, architecture="encoder-only"),
    "without head bias": replace(CONFIG, head_bias=False),
    "tied output": replace(CONFIG, tie_output=True),
    "tied output without head bias": replace(CONFIG, architecture="decoder-only", tie_output=True, head_bias=False),
}
SIZES = {
    "fewer": (2, 5),
    "twice as many": (CHUNK_ROWS // 8, 16),
    "many more": (CHUNK_ROWS // 4, 20),
}  # sentences and tokens; labels than ROWS


def model_of(config: TransformerConfig, dtype: torch.dtype) -> Transformer:
    """A model whose answers are far from equally likely, with a bias that is not zero."""
    model = Transformer(config, 3).to(dtype)
    with torch.no_grad():
        for parameter in model.head.parameters():
            parameter += torch.linspace(-1, 1, parameter.numel(), dtype=dtype).view_as(parameter)
    return model


def batch(config: TransformerConfig, size: tuple[int, int], padded: bool) -> tuple[Tensor | None, Tensor | None, Tensor]:
    """Source, target and labels [B, T] that a model of this architecture reads; padding, if any, is among the labels."""
    generator = torch.Generator().manual_seed(7)
    source, target, labels = (torch.randint(1, 23, size, generator=generator) for __ in range(3))
    if padded:
        lengths = torch.randint(1, size[1], (size[0], 1), generator=generator)
        labels = labels.where(torch.arange(size[1]) < lengths, config.pad_id(config.output_side))
    return source if config.has_encoder else None, target if config.has_decoder else None, labels


def gradients(model: Transformer, loss: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    loss.backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def assert_equal(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    """Equal but for rounding; the gradient of a bias of the keys is nothing but rounding, since no weight depends on it."""
    assert ours.keys() == theirs.keys()
    for name, gradient in ours.items():
        torch.testing.assert_close(gradient, theirs[name], rtol=ROUNDING, atol=EXACT, msg=lambda found, of=name: f"{of}: {found}")


@pytest.mark.parametrize("padded", [True, False], ids=["padded", "not padded"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", MODELS)
def test_the_loss_and_every_gradient_are_those_of_the_whole_logits(name: str, size: str, padded: bool) -> None:
    model = model_of(MODELS[name], torch.float64)
    ids = batch(model.config, SIZES[size], padded)
    whole = model(*ids).loss
    loss = chunked_cross_entropy(model, *ids)
    assert loss.item() == pytest.approx(whole.item(), rel=ROUNDING) and loss.item() > 1
    assert_equal(gradients(model, loss), gradients(model, whole))


def test_a_multiple_of_the_loss_has_that_multiple_of_the_gradients() -> None:
    model = model_of(CONFIG, torch.float64)
    ids = batch(CONFIG, SIZES["fewer"], padded=True)
    once, thrice = (gradients(model, times * chunked_cross_entropy(model, *ids)) for times in (1, 3))
    assert_equal(thrice, {name: 3 * gradient for name, gradient in once.items()})


@pytest.mark.parametrize("name", MODELS)
def test_with_products_in_bfloat16_the_loss_is_nearly_the_same(name: str) -> None:
    model = model_of(MODELS[name], torch.float32)
    ids = batch(model.config, SIZES["many more"], padded=True)
    exact = model(*ids).loss
    with torch.autocast("cpu", torch.bfloat16):
        loss = chunked_cross_entropy(model, *ids)
    assert loss.dtype == torch.float32 and loss.item() == pytest.approx(exact.item(), rel=0.01)
    ours, theirs = (nn.utils.parameters_to_vector(gradients(model, of).values()) for of in (loss, exact))
    assert ours.dtype == torch.float32 and float((ours - theirs).norm()) < 0.05 * float(theirs.norm())
