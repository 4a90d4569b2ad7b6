"""One setup: what is typed, switched and selected, as a frozen value and as a link.

The link holds only what differs from the preset. Whatever a link says is checked at the door: an unknown or
out-of-range value is named and replaced by the default, and nothing else is lost. No Streamlit in here.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2s
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode

from viz_core.config import CHOICES, TransformerConfig
from viz_core.limits import MAX_LINK_BYTES, MAX_SENTENCES, MAX_TOKENS, MAX_VIEW_CHARS
from viz_core.presets import PRESETS
from viz_core.stages import always, stages
from viz_core.text import TokenizerKind
from viz_core.ui.shell.views import VIEWS
from viz_core.weights.card import UNTRAINED, Card
from viz_core.weights.catalogue import catalogue

OPENING = "translator"  # the weights that a newcomer sees
DEFAULT_PRESET = "000"
DEFAULT_SOURCE = "the cat sat on the mat"
DEFAULT_TARGET = "猫 坐在 垫子 上"
Tokens = TokenizerKind | Literal["ids"]  # "ids": the numbers themselves are typed
TOKENS = ("word", "character", "ids")
DEVICES = ("auto", "cpu", "cuda")
MAX_SEED = 2**31 - 1
TEXTS = ("source", "target")


@dataclass(frozen=True, slots=True)
class Control:
    """One switch of the sidebar: the config field it sets and the valid values it offers, in order."""

    field: str
    label: str
    help: str
    options: Callable[[TransformerConfig], Sequence[Any]]
    group: str = ""  # "" for the few that matter first
    when: Callable[[TransformerConfig], bool] = always  # whether it has a meaning

    def value(self, config: TransformerConfig) -> Any:
        """What holds now, derived values resolved."""
        return getattr(config, RESOLVED.get(self.field, self.field))

    def offered(self, config: TransformerConfig) -> list[Any]:
        """The valid values, the present one among them."""
        options = list(self.options(config))
        if self.value(config) not in options:
            options = sorted([*options, self.value(config)])
        return options


# Switches that no parameter depends on: what stays editable with trained weights, though not as they were trained.
WEIGHTLESS = frozenset({
    "position", "position_base", "max_len", "scale_embedding", "scale_scores", "residual", "causal", "activation", "norm_eps",
    "mask_source_padding", "mask_target_padding", "mask_padded_queries", "mask_fill", "empty_row",
})
RESOLVED = {"qk_dim": "qk_width", "d_ff": "ff_width", "causal": "is_causal", "final_norm": "has_final_norm"}
SIZES = ("d_model", "qk_dim")  # they follow n_heads, since they split into equal heads
NO_SIZE = "auto"  # how a link says that qk_dim follows d_model
WIDTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
MAX_D_MODEL = 1024


def _of(*values: Any) -> Callable[[TransformerConfig], Sequence[Any]]:
    return lambda config: values


def _choices(name: str) -> Callable[[TransformerConfig], Sequence[Any]]:
    return lambda config: CHOICES[name]


def _widths(c: TransformerConfig) -> list[int]:
    """d_model: every head gets the same number of features."""
    fits = [c.n_heads * w for w in WIDTHS if c.n_heads * w <= MAX_D_MODEL]
    even = c.position == "rope" and c.qk_dim is None
    return [d for d in fits if not (even and d // c.n_heads % 2)]


def _qk_widths(c: TransformerConfig) -> list[int]:
    return [c.n_heads * w for w in WIDTHS if c.n_heads * w <= MAX_D_MODEL and not (c.position == "rope" and w % 2)]


LAYERS = _of(*range(1, 13), 16, 24, 32, 48)
VOCABULARIES = _of(20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000)
SWITCH = _of(False, True)
PAD_IDS = _of(0, 1, 2, 3)

CONTROLS: tuple[Control, ...] = (
    Control("architecture", "Architecture", "An encoder that reads and a decoder that writes, or only one of the two.", _choices("architecture")),
    Control("norm", "LayerNorm", "After each sub-layer's sum (post), before each sub-layer (pre), or nowhere.", _choices("norm")),
    Control("position", "Positions", "How word order reaches the model: vectors added to the embedding (sinusoidal, learned), queries and keys turned (rope), a penalty on distance (alibi), or nothing.", _choices("position")),
    Control("n_heads", "n_heads", "How many attention heads look in parallel.", _of(*range(1, 17))),
    Control("d_model", "d_model", "Numbers that stand for one token between the layers; they split evenly into the heads.", _widths),
    Control("n_encoder_layers", "Encoder layers", "How many layers the encoder stacks.", LAYERS, when=lambda c: c.has_encoder),
    Control("n_decoder_layers", "Decoder layers", "How many layers the decoder stacks.", LAYERS, when=lambda c: c.has_decoder),
    Control("qk_dim", "qk_dim", "Width of all queries (and of all keys) over all heads together; values keep d_model.", _qk_widths, "Sizes"),
    Control("d_ff", "d_ff", "Hidden units of the feed-forward network; usually 4 · d_model.",
            _of(4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3072, 4096), "Sizes"),
    Control("max_len", "max_len", "Rows of the position table; a longer sentence cannot be read.",
            _of(5, 10, 20, 50, 100, 200, 512, 1024, 5000), "Sizes", lambda c: c.has_position_table),
    Control("source_vocab_size", "Source vocabulary", "How many word ids the encoder knows.", VOCABULARIES, "Sizes", lambda c: c.has_encoder),
    Control("target_vocab_size", "Target vocabulary", "How many word ids the decoder knows.", VOCABULARIES, "Sizes", lambda c: c.has_decoder),
    Control("activation", "Activation", "The feed-forward network's non-linearity.", _choices("activation"), "Layers"),
    Control("residual", "Residual connections", "Each sub-layer adds to the stream. Off: it replaces the stream.", SWITCH, "Layers"),
    Control("final_norm", "Final norm", "A LayerNorm after the last layer of each stack; usual with pre.", SWITCH, "Layers", lambda c: c.norm != "none"),
    Control("norm_embedding", "Norm on the embedding", "A LayerNorm before the first layer, as BERT has it.", SWITCH, "Layers"),
    Control("norm_eps", "LayerNorm ε", "Added to the variance, so that LayerNorm never divides by zero.",
            _of(1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-3, 1e-1), "Layers", lambda c: c.norm != "none" or c.norm_embedding),
    Control("scale_embedding", "Embedding × √d_model", "Makes the content louder before the positions are added.", SWITCH, "Embedding"),
    Control("position_base", "Position base", "The larger, the slower the slowest wave; its length stays below 2π times this.",
            _of(10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0), "Embedding", lambda c: c.position in ("sinusoidal", "rope")),
    Control("zero_pad_embedding", "Zero padding row", "The embedding of <pad> starts as zeros.", SWITCH, "Embedding"),
    Control("source_pad_id", "Source pad id", "The id of <pad> in the source.", PAD_IDS, "Embedding", lambda c: c.has_encoder),
    Control("target_pad_id", "Target pad id", "The id of <pad> in the target.", PAD_IDS, "Embedding", lambda c: c.has_decoder),
    Control("n_segments", "Segments", "Rows of BERT's segment table (which of two texts a token is from); 0 for none.", _of(0, 2), "Embedding", lambda c: c.has_encoder),
    Control("scale_scores", "Scores ÷ √d_k", "Divides q·k by the root of a head's width. Off: wide heads can saturate the softmax.", SWITCH, "Attention and masks"),
    Control("causal", "Causal mask", "No token may look at a later one; in an encoder-decoder this is the decoder.", SWITCH, "Attention and masks"),
    Control("mask_source_padding", "Mask source padding", "Nobody may look at padding of the source.", SWITCH,
            "Attention and masks", lambda c: c.has_encoder),
    Control("mask_target_padding", "Mask target padding", "Nobody may look at padding of the target.", SWITCH,
            "Attention and masks", lambda c: c.has_decoder),
    Control("mask_padded_queries", "Mask padded queries", "Padding may not look at anyone either (document 002).", SWITCH,
            "Attention and masks",
            lambda c: (c.has_encoder and c.mask_source_padding) or (c.has_decoder and c.mask_target_padding)),
    Control("mask_fill", "Mask fill", "The number that replaces a forbidden score before the softmax.", _of("-inf", -1e20, -1e9, -1e4), "Attention and masks"),
    Control("empty_row", "A query that sees nothing", "Its weights: zeros, or as filled: NaN under −inf, all equal under a finite fill.",
            _choices("empty_row"), "Attention and masks"),
    Control("head", "Vocabulary logits", "Whether the encoder ends in a score for every word.", SWITCH, "Output", lambda c: not c.has_decoder),
    Control("tie_output", "Tied output", "The output matrix is the token embedding's, used a second time.", SWITCH, "Output", lambda c: c.has_head),
    Control("head_bias", "Output bias", "A learned number per word, added to its score.", SWITCH, "Output", lambda c: c.has_head),
    Control("attention_bias", "Attention biases", "Whether the four projections (queries, keys, values, output) add a bias.", SWITCH, "Weights"),
    Control("ffn_bias", "Feed-forward biases", "Whether both linear layers add a bias.", SWITCH, "Weights"),
    Control("init", "Initialisation", "What the untrained matrices are drawn from; torch: what nn.Linear and nn.Embedding draw by default.", _choices("init"), "Weights"),
)
BY_FIELD = {c.field: c for c in CONTROLS}
VIEW = {v.name: v for v in VIEWS}
LEFT_OUT = "left_out"  # how a link names the text that it has no room for
LONG = tuple(v.name for v in VIEWS if v.most > MAX_VIEW_CHARS)  # views that may not fit a link


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a link has no room for: a name to be found by, and the text itself. Both are "" where all of it fits."""

    name: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything a link carries. `config` is the preset's, or the trained weights' own, with the visitor's changes."""

    weights: str = UNTRAINED  # or a name in the catalogue
    preset: str = DEFAULT_PRESET  # where the weights are untrained
    config: TransformerConfig = field(default_factory=lambda: PRESETS[DEFAULT_PRESET].config)
    source: str = DEFAULT_SOURCE
    target: str = DEFAULT_TARGET
    tokenizer: Tokens = "word"
    seed: int = 0
    device: str = "auto"
    stage: str = ""  # "" is the first stop of the tour
    item: int = 0
    attn_head: int = 0
    views: tuple[tuple[str, Any], ...] = ()  # what pages have selected, where it is not the default
    chosen: tuple[tuple[str, int | None], ...] = ()  # SIZES that were rounded, as chosen

    @property
    def card(self) -> Card | None:
        """The trained weights' card; None where they are untrained."""
        return None if self.weights == UNTRAINED else catalogue()[self.weights]

    @property
    def base(self) -> TransformerConfig:
        """The config that changes start from: the preset's or the weights' own."""
        return PRESETS[self.preset].config if self.card is None else self.card.config

    @property
    def default_texts(self) -> tuple[str, str]:
        """The source and target that a newcomer to these weights reads."""
        return (DEFAULT_SOURCE, DEFAULT_TARGET) if self.card is None else _example(self.card)

    def view(self, name: str) -> Any:
        """What a page has selected under a name in `VIEWS`."""
        return dict(self.views).get(name, VIEW[name].default)


def _example(card: Card) -> tuple[str, str]:
    """The first example of a card's language, or the untrained models' sentences."""
    return tuple(card.examples[0]) if card.examples else (DEFAULT_SOURCE, DEFAULT_TARGET)  # type: ignore[return-value]


def opening() -> Setup:
    """What an empty link opens."""
    return with_weights(Setup(), OPENING) if OPENING in catalogue() else Setup()


def changes(setup: Setup) -> dict[str, Any]:
    """The fewest config fields that, set on the base config, give this one."""
    base = setup.base
    found = {c.field: c.value(setup.config) for c in CONTROLS if getattr(setup.config, c.field) != getattr(base, c.field)}
    for name in list(found):  # one that follows from the rest need not be said
        rest = {f: v for f, v in found.items() if f != name}
        if _resolved(_config(base, rest)) == _resolved(setup.config):
            found = rest
    return found


def _resolved(config: TransformerConfig | None) -> list[Any]:
    return [] if config is None else [c.value(config) for c in CONTROLS]


def _config(base: TransformerConfig, fields: Mapping[str, Any]) -> TransformerConfig | None:
    """The base with these fields; None where they do not fit together."""
    try:
        return replace(base, **fields)
    except ValueError:
        return None


# ---------------------------------------------------------------- changing


def with_preset(setup: Setup, name: str) -> Setup:
    """Another document's model, untrained, on the same sentences."""
    return _with_base(setup, UNTRAINED, name, PRESETS[name].config)


def with_weights(setup: Setup, name: str) -> Setup:
    """Trained weights and the model they belong to, read with their own tokenizer."""
    return _with_base(setup, name, setup.preset, catalogue()[name].config)


def _with_base(setup: Setup, weights: str, preset: str, config: TransformerConfig) -> Setup:
    """Typed text stays; sentences that nobody typed give way to some that the new weights know."""
    offered = {(DEFAULT_SOURCE, DEFAULT_TARGET), *(tuple(e) for card in catalogue().values() for e in card.examples)}
    untouched = (setup.source, setup.target) in offered
    new = replace(setup, weights=weights, preset=preset, config=config, chosen=(), stage=_kept_stage(setup.stage, config), attn_head=0)
    if weights != UNTRAINED and new.tokenizer == "character":
        new = replace(new, tokenizer="word")
    source, target = new.default_texts
    return replace(new, source=source, target=target) if untouched else new


def with_view(setup: Setup, **values: Any) -> Setup:
    """Other selections of a page. `ValueError` for one that the table does not allow."""
    kept = dict(setup.views)
    for name, value in values.items():
        kept[name] = VIEW[name].read(VIEW[name].write(value))
    return replace(setup, views=tuple(sorted((n, v) for n, v in kept.items() if v != VIEW[n].default)))


def editable(setup: Setup, name: str) -> bool:
    """Whether a config field may be changed: with trained weights only what no parameter depends on."""
    learned_table = name == "max_len" and setup.base.position == "learned"
    return setup.card is None or (name in WEIGHTLESS and not learned_table)


def offered(setup: Setup, control: Control) -> list[Any]:
    """The values of a control that the weights allow: a learned table only where one was learned."""
    lacks_table = control.field == "position" and setup.card is not None and setup.base.position != "learned"
    return [o for o in control.offered(setup.config) if not (lacks_table and o == "learned")]


def with_field(setup: Setup, name: str, value: Any) -> tuple[Setup, list[str]]:
    """Change one config field; fields that no longer fit follow it, each with a sentence that says so.

    d_model and qk_dim are rounded from what was chosen last, so that n_heads there and back ends where it began.
    """
    values: dict[str, Any] = {f: getattr(setup.config, f) for f in TransformerConfig.__dataclass_fields__} | {name: value}
    chosen = {f: getattr(setup.config, f) for f in SIZES} | dict(setup.chosen) | ({name: value} if name in SIZES else {})
    values |= chosen
    notes: list[str] = []

    def follow(follower: str, new: Any, why: str) -> None:
        values[follower] = new
        if new != getattr(setup.config, follower):
            notes.append(f"{follower} is now {new}: {why}.")

    heads = values["n_heads"]
    if values["d_model"] % heads:
        follow("d_model", _multiple(values["d_model"], heads), f"it splits into {heads} equal heads")
    elif name != "d_model" and values["d_model"] != setup.config.d_model:
        follow("d_model", values["d_model"], "that was chosen last, and it splits into equal heads again")
    width = (values["qk_dim"] or values["d_model"]) / heads
    if width % 1:
        follow("qk_dim", _multiple(values["qk_dim"], heads), f"it splits into {heads} equal heads")
    if values["position"] == "rope" and (values["qk_dim"] or values["d_model"]) // heads % 2:
        width = (values["qk_dim"] or values["d_model"]) // heads
        follow("qk_dim", (width + 1 if (width + 1) * heads <= MAX_D_MODEL else width - 1) * heads, "RoPE turns pairs of features")
    if values["norm"] == "none":
        values["final_norm"] = None
    if values["architecture"] != "encoder-only":
        values["head"] = True
    if values["architecture"] == "decoder-only":
        values["n_segments"] = 0
    if not values["head"]:
        values["tie_output"] = False
    if values["architecture"] != setup.config.architecture:
        values["causal"] = None  # what the architecture usually has
    padded = (values["architecture"] != "decoder-only" and values["mask_source_padding"]) or (
        values["architecture"] != "encoder-only" and values["mask_target_padding"]
    )
    if values["mask_padded_queries"] and not padded:
        follow("mask_padded_queries", False, "no padding is masked")
    bound = [f for f, v in values.items() if v != getattr(setup.config, f) and not editable(setup, f)]
    if bound:
        return setup, [f"{name} stays as it is: {value} would need another {', '.join(bound)}, which the trained weights fix."]
    config = TransformerConfig(**values)
    return replace(
        setup, config=config, chosen=tuple((f, v) for f, v in chosen.items() if v != values[f]), stage=_kept_stage(setup.stage, config),
        attn_head=min(setup.attn_head, config.n_heads - 1),
    ), notes


def _multiple(size: int, heads: int) -> int:
    """The multiple of the head count nearest to a size, within what is offered."""
    return min(max(1, round(size / heads)), MAX_D_MODEL // heads) * heads


def _kept_stage(stage: str, config: TransformerConfig) -> str:
    return stage if any(s.name == stage for s in stages(config)) else ""


# ---------------------------------------------------------------- links


def to_link(setup: Setup) -> tuple[dict[str, str], LeftOut]:
    """Query parameters of what differs from the preset, and what had to be left out of them (over 8 KB): mostly nothing."""
    params, left_out = _to_link(setup)
    return dict(params), left_out


@lru_cache(maxsize=32)  # asked several times a run
def _to_link(setup: Setup) -> tuple[Mapping[str, str], LeftOut]:
    params = _parameters(setup)
    if len(urlencode(params, errors="surrogatepass")) <= MAX_LINK_BYTES:
        return params, LeftOut()
    long = {k: v for k, v in params.items() if k in (*TEXTS, *LONG)}
    text = urlencode(long, errors="surrogatepass")
    left_out = LeftOut(blake2s(text.encode(), digest_size=6).hexdigest(), text)
    return {k: v for k, v in params.items() if k not in long} | {LEFT_OUT: left_out.name}, left_out


def with_left_out(setup: Setup, text: str) -> Setup:
    """The setup with what a link had left out, checked at the door like any link."""
    found = dict(parse_qsl(text, keep_blank_values=True, errors="surrogatepass"))
    setup = replace(setup, source=found.get("source", setup.source), target=found.get("target", setup.target))
    for name in LONG:
        with suppress(ValueError):
            setup = with_view(setup, **{name: VIEW[name].read(found.get(name, ""))})
    return setup


def packed(setup: Setup) -> str:
    """A whole setup, however long, as one text that is never empty: a run that a page keeps beside the present one."""
    return urlencode({"weights": setup.weights, **_parameters(replace(setup, views=()))}, errors="surrogatepass")


def packed_size(setup: Setup, lengths: Sequence[int]) -> str:
    """The sizes of a run: sentences, source and target tokens, and the setup of its config alone; "1.6.5&weights=…"."""
    default = Setup()
    bare = replace(setup, **{name: getattr(default, name) for name in ("tokenizer", "seed", "device", "stage", "item", "attn_head")})
    source, target = setup.default_texts
    return f"{'.'.join(map(str, lengths))}&{packed(replace(bare, source=source, target=target))}"


def unpacked_size(text: str) -> tuple[TransformerConfig, int, int, int]:
    """The inverse of `packed_size`. `ValueError` says what is wrong, without what was written."""
    lengths, _, rest = text.partition("&")
    numbers = [int(n) for n in lengths.split(".") if n.isascii() and n.isdigit() and len(n) < 10]
    setup, faults = unpacked(rest)
    sides = (setup.config.has_encoder, setup.config.has_decoder)
    if len(numbers) != 3 or lengths.count(".") != 2 or not 1 <= numbers[0] <= MAX_SENTENCES:
        raise ValueError(f"does not begin with 1 to {MAX_SENTENCES} sentences, source tokens and target tokens, such as 1.6.5")
    if any(not (1 <= n <= MAX_TOKENS if there else n == 0) for n, there in zip(numbers[1:], sides, strict=True)):
        raise ValueError(f"needs 1 to {MAX_TOKENS} tokens on each side that its model has, and 0 on one that it lacks")
    if faults:
        raise ValueError("describes a model that cannot be had here")
    return setup.config, numbers[0], numbers[1], numbers[2]


def unpacked(text: str) -> tuple[Setup, list[tuple[str, str]]]:
    """The inverse of `packed`, checked at the door like any link."""
    return from_link(dict(parse_qsl(text, keep_blank_values=True, errors="surrogatepass")))


def _parameters(setup: Setup) -> dict[str, str]:
    """What differs from the preset, as a link says it."""
    default, start = Setup(), opening()
    params: dict[str, str] = {}
    if setup.card is None and (start.card or setup.preset != start.preset):
        params["preset"] = setup.preset  # it says that the weights are untrained
    elif setup.weights != start.weights:
        params["weights"] = setup.weights
    params |= {name: _to_text(value) for name, value in changes(setup).items()}
    for name in ("tokenizer", "seed", "device", "stage", "item", "attn_head"):
        if getattr(setup, name) != getattr(default, name):
            params[name] = str(getattr(setup, name))
    if setup.chosen:
        params["chosen"] = ",".join(f"{name}:{NO_SIZE if size is None else size}" for name, size in setup.chosen)
    params |= {name: VIEW[name].write(value) for name, value in setup.views}
    params |= {
        side: getattr(setup, side) for side, own in zip(TEXTS, setup.default_texts, strict=True) if getattr(setup, side) != own
    }
    return params


def from_link(params: Mapping[str, str]) -> tuple[Setup, list[tuple[str, str]]]:
    """The setup that a link describes, and its faults: (parameter as written, sentence without what was written)."""
    left = {k: v for k, v in params.items() if not k.startswith("embed")}  # embed and embed_options are Streamlit's
    left.pop(LEFT_OUT, None)  # only its tab has the text
    setup, faults = _base(left)

    fields: dict[str, Any] = {}
    for control in CONTROLS:
        if control.field in left:
            text = left.pop(control.field)
            value, problem = _from_text(control, text, setup.config)
            if not editable(setup, control.field) or (value == "learned" and value not in offered(setup, control)):
                problem = f"would need other weights than {setup.weights}; choose weights=untrained to change it"
            if problem:
                faults.append((f"{control.field}={text}", problem))
            else:
                fields[control.field] = value
    config, misfits = _fitting(setup.config, fields)
    faults += misfits
    setup = replace(setup, config=config)

    readers: dict[str, Callable[[str], Any]] = {
        "tokenizer": _one_of(TOKENS), "device": _one_of(DEVICES), "seed": _whole(MAX_SEED),
        "stage": _one_of(tuple(s.name for s in stages(config))), "item": _whole(MAX_SENTENCES - 1),
        "attn_head": _whole(config.n_heads - 1), "chosen": _sizes, "source": str, "target": str, **{v.name: v.read for v in VIEWS},
    }
    for name, read in readers.items():
        if name in left:
            text = left.pop(name)
            try:
                value = read(text)
                setup = with_view(setup, **{name: value}) if name in VIEW else replace(setup, **{name: value})
            except ValueError as error:
                faults.append((f"{name}={text}", f"{error}; the default is used"))
    faults += [(f"{name}={text}", "is not a setting of this app and is left out") for name, text in left.items()]
    return setup, faults


def _base(left: dict[str, str]) -> tuple[Setup, list[tuple[str, str]]]:
    """The weights or the preset that a link starts from, taken out of it.

    A link that names neither, but a preset, a seed or a switch that trained weights fix, means the untrained model.
    """
    faults: list[tuple[str, str]] = []
    means_untrained = bool(left.keys() & ({"preset", "seed", "tokenizer"} | (BY_FIELD.keys() - WEIGHTLESS)))
    start = Setup() if means_untrained else opening()
    setup = start
    if (weights := left.pop("weights", start.weights)) == UNTRAINED:
        setup = Setup()
    elif weights in catalogue():
        setup = with_weights(Setup(), weights)
    else:
        faults.append((f"weights={weights}", f"are not on this machine; {start.weights} is used"))
    if (preset := left.pop("preset", DEFAULT_PRESET)) not in PRESETS:
        faults.append((f"preset={preset}", f"is not a preset; {DEFAULT_PRESET} is used"))
    elif setup.card is None:
        setup = with_preset(setup, preset)
    return setup, faults


def _to_text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)


def _from_text(control: Control, text: str, config: TransformerConfig) -> tuple[Any, str]:
    """A value and "", or None and what is wrong with the text. Sizes are bounded by the largest that is offered."""
    options = list(control.options(config))
    by_text = {_to_text(o): o for o in options}
    if text in by_text:
        return by_text[text], ""
    numbers = [o for o in options if isinstance(o, int | float) and not isinstance(o, bool)]
    if not numbers or any(isinstance(o, str | bool) for o in options):
        return None, "is not one of " + ", ".join(by_text) + "; the preset's is used"
    low, high = min(numbers), MAX_D_MODEL if control.field in ("d_model", "qk_dim") else max(numbers)
    low = min(low, 5 if "vocab" in control.field else 1) if isinstance(numbers[0], int) else low
    kind = type(numbers[0])
    try:
        value = kind(text)
    except ValueError:
        return None, f"is not a {'whole ' if kind is int else ''}number; the preset's is used"
    if not low <= value <= high:
        return None, f"is outside {_to_text(low)} to {_to_text(high)}; the preset's is used"
    return value, ""


def _fitting(base: TransformerConfig, fields: dict[str, Any]) -> tuple[TransformerConfig, list[tuple[str, str]]]:
    """The base with as many of the fields as fit together; each that does not is named with the reason."""
    fields = dict(fields)
    faults: list[tuple[str, str]] = []
    while True:
        try:
            return replace(base, **fields), faults
        except ValueError as error:
            reason = str(error)
            guilty = reason.split("=")[0]
            if guilty not in fields:  # the reason names a field of the preset: find one whose absence helps
                helps = (f for f in fields if _config(base, {k: v for k, v in fields.items() if k != f}))
                guilty = next(helps, next((f for f in fields if f in reason), next(iter(fields))))
            faults.append(
                (f"{guilty}={_to_text(fields.pop(guilty))}", f"does not fit ({reason.rstrip('.')}); the preset's is used")
            )


def _one_of(choices: Sequence[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            few = ", ".join(choices) if len(choices) <= 6 else "those that this model has"
            raise ValueError(f"is not one of {few}")
        return text

    return read


def _whole(most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= most):
            raise ValueError(f"is not a whole number from 0 to {most}")
        return int(text)

    return read


def _sizes(text: str) -> tuple[tuple[str, int | None], ...]:
    """ "d_model:32,qk_dim:auto" as sizes that were chosen before they were rounded to the heads."""
    found: dict[str, int | None] = {}
    for part in text.split(","):
        name, _, size = part.partition(":")
        is_number = size.isascii() and size.isdigit() and len(size) < 5 and 1 <= int(size) <= MAX_D_MODEL
        if name not in SIZES or not (is_number or (name, size) == ("qk_dim", NO_SIZE)):
            raise ValueError(f"is not written as d_model:32 or qk_dim:{NO_SIZE}, with sizes from 1 to {MAX_D_MODEL}")
        found[name] = int(size) if is_number else None
    return tuple((name, found[name]) for name in SIZES if name in found)


# ---------------------------------------------------------------- sentences


def sentences(setup: Setup) -> tuple[list[str], list[str], list[str]]:
    """The typed lines as (source, target) pairs, blank ones left out, and what there is to say about them."""
    c = setup.config
    notes: list[str] = []
    source, target = (_lines(getattr(setup, side)) for side in TEXTS)
    if not c.has_cross_attention:
        own = [line for line in (source if c.has_encoder else target) if line.strip()]
        return (own, [], notes) if c.has_encoder else ([], own, notes)
    pairs, bare, orphans = [], [], []
    for i in range(max(len(source), len(target))):
        s, t = (side[i] if i < len(side) else "" for side in (source, target))
        if s.strip():
            pairs.append((s, t))
        if s.strip() and not t.strip():
            bare.append(i + 1)
        if t.strip() and not s.strip():
            orphans.append(i + 1)
    if bare:
        notes.append(f"No target for {_line_numbers(bare)}: there the decoder reads <bos> alone.")
    if orphans:
        notes.append(f"No source for {_line_numbers(orphans)}: what stands there as target is left out.")
    return [s for s, _ in pairs], [t for _, t in pairs], notes


def _line_numbers(numbers: list[int]) -> str:
    few = ", ".join(map(str, numbers[:6])) + (", …" if len(numbers) > 6 else "")
    return f"line {few}" if len(numbers) == 1 else f"lines {few}"


def ids(side: str, lines: Sequence[str]) -> list[list[int]]:
    """Typed ids of each line, separated by spaces or commas. `ValueError` for a word that is no number."""
    rows = []
    for i, line in enumerate(lines):
        words = line.replace(",", " ").split()
        wrong = next((w for w in words if not (w.isascii() and w.isdigit() and len(w) < 10)), None)
        if wrong is not None:
            problem = f"{side} sentence {i + 1} holds a word that is no id"
            raise ValueError(f"{problem}; type whole numbers such as 101 205 330, or choose another tokenizer.")
        rows.append([int(w) for w in words])
    return rows


def _lines(text: str) -> list[str]:
    """Lines of a text box. Only the Enter key ends a line: other separators are what a person typed."""
    return text.replace("\r\n", "\n").rstrip("\n").split("\n")
