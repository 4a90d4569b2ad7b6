"""The table of link parameters that hold the selections of all pages. This module does not import Streamlit.

A parameter has a name (which begins with the page's name), a default, and allowed values. A link holds only values that differ
from the default, and every value in a link is checked when it is read.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from viz_core.config import CHOICES
from viz_core.config.limits import MAX_NEW_TOKENS, MAX_RECIPE_CHARS, MAX_SELECTION_CHARS, MAX_STORED_SETUP_CHARS
from viz_core.messages import translate as _


@dataclass(frozen=True, slots=True)
class UrlParam:
    """One link parameter.

    options: the allowed values; None for text of at most `max_chars` characters. is_multiple: whether the value is a tuple of
    options. old_values: values in older links, with the present ones. old_name: the parameter's name in older links.
    """

    name: str
    default: Any
    options: Sequence[Any] | None = None
    is_multiple: bool = False
    max_chars: int = MAX_SELECTION_CHARS
    old_values: Mapping[str, str] = field(default_factory=dict)
    old_name: str = ""

    def to_text(self, value: Any) -> str:
        """Return a value as text for a link."""
        return ",".join(map(_option_text, value)) if self.is_multiple else _option_text(value)

    def from_text(self, text: str) -> Any:
        """Return the value of a text from a link. Raises `ValueError` with what is wrong, without repeating the text."""
        if self.options is None:
            if len(text) > self.max_chars:
                raise ValueError(_("is longer than {most:,} characters", most=self.max_chars))
            return self.old_values.get(text, text)
        if self.is_multiple:
            return tuple(dict.fromkeys(self._option(part) for part in text.split(",") if part))
        return self._option(text)

    def _option(self, text: str) -> Any:
        assert self.options is not None
        text = self.old_values.get(text, text)
        if isinstance(self.options, range):
            low, high = max(self.options[0], 0), self.options[-1]  # lower values, like "", mean that the page chooses
            digits = text.removeprefix("-")
            if not (digits.isascii() and digits.isdigit() and len(digits) < 10 and int(text) in self.options):
                step = " " + _("in steps of {step}", step=self.options.step) if self.options.step > 1 else ""
                raise ValueError(_("is not a whole number from {low} to {high}{step}", low=low, high=high, step=step))
            return int(text)
        for option in self.options:
            if _option_text(option) == text:
                return option
        named = [_option_text(option) for option in self.options if option != ""]
        raise ValueError(_("is not one of {named}",
                           named=", ".join(named) if len(named) <= 12 else _("the choices that the page offers")))


@dataclass(frozen=True, slots=True)
class CellsParam(UrlParam):
    """The picked cells, at most one per heatmap: a tuple of (heatmap, panel, row, column), in a link walk_canvas.1.0.3.

    options: the heatmaps. A heatmap name alone means that nothing is picked, in a heatmap where the page would pick a cell.
    """

    def to_text(self, value: Any) -> str:
        return ",".join(".".join(map(str, cell)) for cell in value)

    def from_text(self, text: str) -> Any:
        found = {}
        for part in filter(None, text.split(",")):
            canvas, *place = _moved_cell(*part.split("."))
            number = all(n.isascii() and n.isdigit() and len(n) <= MAX_CELL_DIGITS for n in place)
            if canvas not in (self.options or ()) or len(place) not in (0, 3) or not number:
                raise ValueError(_("does not name a matrix of this app, then one of its panels, a row and a column by their "
                                   "numbers"))
            found[canvas] = (canvas, *map(int, place))
        return tuple(found.values())


@dataclass(frozen=True, slots=True)
class BranchesParam(UrlParam):
    """The branches of the text tree: a tuple of (path, step, ids), in a link g.3.17 or g.3.17-4.

    The path that a branch leaves is g (greedy), b (the best beam), b2 to b8 (the other beams), s1 or s2 (samples), or the number of
    an earlier branch, from 1.
    """

    def to_text(self, value: Any) -> str:
        return ",".join(f"{path}.{step}.{'-'.join(map(str, ids))}" for path, step, ids in value)

    def from_text(self, text: str) -> Any:
        parts = text.split(",") if text else []
        found = [BRANCH_PATTERN.fullmatch(part) for part in parts]
        known = all(m and (not m[1].isdigit() or int(m[1]) <= i) and int(m[2]) < MAX_NEW_TOKENS for i, m in enumerate(found))
        read = tuple((m[1], int(m[2]), tuple(map(int, m[3].split("-")))) for m in found if m)
        if not known or len(parts) > MAX_BRANCHES or any(step + len(ids) > MAX_NEW_TOKENS for __, step, ids in read):
            raise ValueError(_("does not name at most {most} branches, each a path, a step and ids, such as g.3.17",
                               most=MAX_BRANCHES))
        return read


@dataclass(frozen=True, slots=True)
class PatchParam(UrlParam):
    """The site at which B is patched with a value of A: (stack, part, layer, head, token), in a link encoder.residual.1.3.

    layer: -1 for the embedding, in a link "embed". A head is patched at all tokens, in a link decoder.cross_attn.2.h5; otherwise
    the last number is the token index in A, from 0. () if nothing is patched.
    """

    def to_text(self, value: Any) -> str:
        if not value:
            return ""
        stack, part, layer, head, token = value
        return f"{stack}.{part}.{'embed' if layer < 0 else layer}.{token if head is None else f'h{head}'}"

    def from_text(self, text: str) -> Any:
        if not text:
            return ()
        found = PATCH_PATTERN.fullmatch(text)
        stack, part, layer, at = found.groups() if found else ("", "", "", "")
        head, token = (int(at[1:]), None) if at.startswith("h") else (None, int(at or 0))
        if not found or (layer == "embed" and part != "residual") or (head is not None and not part.endswith("attn")):
            raise ValueError(_("does not name a place in the model, such as encoder.residual.1.3 or decoder.cross_attn.2.h5"))
        return stack, part, -1 if layer == "embed" else int(layer), head, token


def _moved_cell(canvas: str, *place: str) -> tuple[str, ...]:
    """Return a cell of a link, with the heatmap and panel that have it now if older links used others."""
    moved = dict(zip(("0", "1"), MOVED_HEATMAPS.get(canvas, ()), strict=False))
    if not place or place[0] not in moved:
        return canvas, *place
    now, panel = moved[place[0]]
    return now, str(panel), *place[1:]


def _option_text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


LEDGER_COLUMNS = (
    "symbolic_shape", "dtype", "parameters", "flops", "bytes", "statistics", "documents", "torch", "hugging_face",
    "transformer_lens", "sequence_first",
)
OLD_COLUMN_NAMES = {
    "symbolic shape": "symbolic_shape", "FLOPs": "flops", "Hugging Face": "hugging_face", "TransformerLens": "transformer_lens",
    "sequence-first": "sequence_first",
}
OLD_PART_NAMES = {"feed-forward": "feed_forward", "LayerNorm": "layer_norm", "residual stream": "residual_stream"}
OLD_BLOCK_NAMES = {
    "Inputs": "inputs", "Masks": "masks", "Output": "output",
    **{f"{side.capitalize()} {part}": f"{side}_{part.replace(' ', '_')}" for side in ("encoder", "decoder")
       for part in ("embedding", "final norm", *(f"layer {i}" for i in range(48)))},
}

PLACEMENTS = ("post", "pre", "pre_no_final", "none", "post_no_residual", "plain")  # of the LayerNorms
OLD_PLACEMENT_NAMES = {"open": "pre_no_final", "cut": "post_no_residual", "bare": "plain"}
DOCUMENT_SENTENCES = {  # example sentences of the documents, for Positions
    "i_love_you_chinese": "我爱你", "dog_bites_man_chinese": "狗咬人", "i_love_you": _("I love you"),
    "dog_bites_man": _("the dog bites the man"),
}

ATTENTION_KINDS = ("encoder", "decoder", "cross")
ATTENTION_HEADS = tuple(f"{kind}.{layer}.{head}" for kind in ATTENTION_KINDS for layer in range(48) for head in range(16))
EPSILONS = ("0", *(f"{float(f'1e{p}'):g}" for p in range(-12, 3)))  # values that LayerNorm may add to the variance, as in a link

PATCH_PATTERN = re.compile(r"(encoder|decoder)\.(residual|self_attn|cross_attn|ffn)\.(embed|[0-9]{1,3})\.(h[0-9]{1,2}|[0-9]{1,4})")
BRANCH_PATTERN = re.compile(r"(g|b[2-8]?|s1|s2|[1-8])\.([0-9]{1,2})\.([0-9]{1,6}(?:-[0-9]{1,6})*)")
MAX_BRANCHES, MAX_BEAMS = 8, 8  # in one tree
WRITING_PATHS = ("g", "b", *(f"b{n}" for n in range(2, MAX_BEAMS + 1)), "s1", "s2", *map(str, range(1, MAX_BRANCHES + 1)))
# The tasks of interactive training, repeated here because that package imports torch; a test compares them.
TRAINING_TASKS = ("copy", "reverse", "sort", "majority", "induction", "next-word", "translate", "sentence", "fill-in", "restore")
TASK_PARAMETERS = {  # name → the largest value that any task allows
    "length": 120, "shortest": 60, "symbols": 64, "repeat": 60, "source": 99, "sentences": 8000, "longest": 20, "damage": 60,
}
TRAINING_MODELS = (  # a small model, the model of the sidebar, or that of a document
    "small", "model", "000", "001", "002", "003", "004", "004-encoder-only", "004-decoder-only", "004-encoder-decoder",
)
TRAINING_SETUPS = ("norm", "mask", "residual", "scale-scores", "scale-embedding", "positions", "lengths", "induction")
CUSTOM_FACTOR = "own"
TRAINING_FACTORS: Mapping[str, tuple[str, ...]] = {  # field of a recipe → the values that are compared, as written in a link
    "config.norm": CHOICES["norm"], "config.position": CHOICES["position"], "config.activation": CHOICES["activation"],
    **{f"config.{name}": ("on", "off") for name in ("residual", "scale_scores", "scale_embedding", "causal")},
    "config.n_heads": ("1", "2", "4", "8"), "learning_rate": ("0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03"),
    "warmup": ("0", "50", "100", "200", "400"), "batch": ("4", "8", "16", "32", "64", "128"),
}
MAX_CELL_DIGITS = 6  # of a row or column: enough for any vocabulary or width that is drawn
MAX_SIZE_CHARS = 2000  # of the size that Shapes compares with: enough for all fields of a config

# The heatmaps whose picked cell is in the parameter `cells`. Where the picked cell is the page's focus, it has its own parameters.
HEATMAPS = (
    "home_ids", "walk_canvas", "att_rollout", "att_broken", "att_hidden",
    "mask_built", "mask_written", "mask_effect", "mask_leak", "mask_reach", "mask_spread", "mask_empty_0", "mask_empty_2",
    "mask_empty_4", "mask_unsqueeze", "pos_table", "pos_window", "pos_shift", "pos_similarity", "pos_parts",
    "pos_schemes", *(f"pos_added_{position}" for position in CHOICES["position"] if position != "none"),
    "pos_detail", "pos_detail_own", "pos_detail_trained", "pos_detail_untrained", "pos_moved", "write_attended",
    "write_rows", "cause_lens", "train_maps", "train_answers", "train_gradients", "train_induction", "train_lengths",
)
# For each heatmap name of older links, the present (heatmap, panel) of each of its panels.
MOVED_HEATMAPS = {
    f"pos_attention_{position}": (("pos_schemes", i), (f"pos_added_{position}", 0))
    for i, position in enumerate(CHOICES["position"])
}
EXPANDERS = ("all_switches", "home_choices", "proof_more", "norm_more", "norm_statements", "shapes_cost")

URL_PARAMS: tuple[UrlParam, ...] = (
    # Every page
    CellsParam("cells", (), HEATMAPS),
    UrlParam("open", (), EXPANDERS, is_multiple=True),
    UrlParam("kept", "", max_chars=MAX_STORED_SETUP_CHARS, old_name="att_a"),  # the setup kept as A, as a query string
    UrlParam("shown", "difference", ("a", "b", "difference")),  # which of the runs A and B, or A − B
    PatchParam("patch", ()),  # the site at which B is patched with a value of A
    UrlParam("present", False, (False, True)),  # presenter's mode
    UrlParam("glosses", True, (False, True)),  # dictionary words, if the weights have any
    UrlParam("note", ""),  # a note that came with the link
    # Home
    UrlParam("home_after", -1, range(-1, 1024)),  # -1: the page chooses
    # Step by step
    UrlParam("walk_mode", "whole", ("whole", "tour")),
    UrlParam("walk_norms", False, (False, True)),
    UrlParam("walk_jump", False, (False, True)),
    UrlParam("walk_follow", -1, range(-1, 1024)),  # the token that the tour follows; -1: the page chooses
    UrlParam("walk_drawing", False, (False, True)),  # whether the architecture is shown in place of the matrices
    UrlParam("walk_look", "stage", ("stage", "parting")),  # of two runs: one stage, or where they diverge
    UrlParam("walk_rows", "stream", ("stream", "all")),  # whose distances are shown: the residual stream, or all stages
    # Shapes
    UrlParam("shapes_filter", ""),
    UrlParam("shapes_block", "all", old_values=OLD_BLOCK_NAMES),
    UrlParam("shapes_part", "all", old_values=OLD_PART_NAMES),
    UrlParam("shapes_columns", (), LEDGER_COLUMNS, is_multiple=True, old_values=OLD_COLUMN_NAMES),
    UrlParam("shapes_before", "", max_chars=MAX_SIZE_CHARS),  # the size against which changes are marked; "": nothing is marked
    UrlParam("shapes_marked", False, (False, True)),
    # Documents
    UrlParam("documents_rows", "all", ("all", "differ", "words", "agree")),
    # Positions
    UrlParam("pos_section", "waves", ("waves", "matrix", "clock", "similarity", "sentence", "schemes", "experiments")),
    UrlParam("pos_length", 100, range(1, 5001)),  # the page's own table, as in the plot of document 001
    UrlParam("pos_width", 20, range(1, 1025)),
    UrlParam("pos_base", "10000"),
    UrlParam("pos_dims", (4, 5, 6, 7), range(1024), is_multiple=True),
    UrlParam("pos_at", 10, range(5000)),
    UrlParam("pos_row", 0, range(5000)),  # first row of the window at full precision
    UrlParam("pos_col", 0, range(1024)),
    UrlParam("pos_k", 3, range(101)),
    UrlParam("pos_side", "source", ("source", "target")),
    UrlParam("pos_scale", "model", ("model", "with", "without")),
    UrlParam("pos_scheme", "sinusoidal", CHOICES["position"]),
    UrlParam("pos_query", -1, range(-1, 1024)),  # -1: the page chooses
    UrlParam("pos_key", -1, range(-1, 1024)),
    UrlParam(
        "pos_sentence",
        "yours",
        ("yours", *DOCUMENT_SENTENCES),
        old_values={text: name for name, text in DOCUMENT_SENTENCES.items()},
    ),
    UrlParam("pos_experiment", "swap", ("swap", "shuffle", "prepend", "past", "longer")),
    UrlParam("pos_way", "moved", ("moved", "row")),  # longer than trained: later positions, or several sentences in a row
    UrlParam("pos_moved", 8, (1, 2, 4, 8, 12, 16, 24, 40, 64)),
    UrlParam("pos_row_of", 2, (2, 3, 4, 6, 8)),
    UrlParam("pos_a", -1, range(-1, 1024)),
    UrlParam("pos_b", -1, range(-1, 1024)),
    UrlParam("pos_draw", 0, range(1000)),
    UrlParam("pos_front", "today"),
    # Attention
    UrlParam("att_show", "all", ("all", *ATTENTION_KINDS)),
    UrlParam("att_kind", "", ("", *ATTENTION_KINDS)),  # "" and -1: the page chooses
    UrlParam("att_layer", -1, range(-1, 256)),
    UrlParam("att_query", -1, range(-1, 1024)),
    UrlParam("att_key", -1, range(-1, 1024)),
    UrlParam("att_lock", "", ("", "query", "key")),
    UrlParam("att_step", "weights", ("raw", "scaled", "biased", "masked", "weights")),
    UrlParam("att_colour", "largest", ("largest", "one", "uniform")),
    UrlParam("att_words", False, (False, True)),
    UrlParam("att_without_special", False, (False, True)),  # whether pictures leave out [CLS] and the like
    UrlParam("att_heads", (), ("none", *range(64)), is_multiple=True),  # those overlaid in the lines; (): the one in focus
    UrlParam("att_more", "none", ("none", "table", "rollout", "break")),
    UrlParam("att_after", -1, range(-1, 256)),
    UrlParam("att_off", (), ("none", *ATTENTION_HEADS), is_multiple=True),  # (), and nothing else changed: the page chooses
    UrlParam("att_unscaled", False, (False, True)),
    UrlParam("att_temperature", 1.0, (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)),
    # Cause and effect
    UrlParam("cause_section", "patching", ("patching", "lens", "attribution", "heads")),
    UrlParam("cause_part", "residual", ("residual", "sublayers", "heads")),
    UrlParam("cause_direction", "denoise", ("denoise", "noise")),
    UrlParam("cause_word", ""),  # "" and -1: the page chooses
    UrlParam("cause_other", ""),
    UrlParam("cause_at", -1, range(-1, 1024)),
    UrlParam("cause_run", "clean", ("clean", "changed")),  # the run of the logit lens and the attribution
    UrlParam("cause_lens", "chance", ("chance", "rank")),
    UrlParam("cause_alone", False, (False, True)),  # the logit of the word alone
    UrlParam("cause_kind", "", ("", *ATTENTION_KINDS)),
    UrlParam("cause_key", -1, range(-1, 1024)),
    UrlParam("cause_measure", "ablated", ("ablated", "denoise", "noise")),
    # Writing
    UrlParam("write_section", "choose", ("choose", "branch", "forcing", "cache")),
    UrlParam("write_strategy", "greedy", ("greedy", "sampling", "beam")),
    UrlParam("write_temperature", 1.0, (0.1, 0.25, 0.5, 0.7, 1.0, 1.5, 2.0, 4.0)),
    UrlParam("write_top_k", 0, range(100001)),  # 0: all words
    UrlParam("write_top_p", 1.0, (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)),
    UrlParam("write_seed", 0, range(10000)),
    UrlParam("write_beams", 4, range(1, MAX_BEAMS + 1)),
    UrlParam("write_penalty", 1.0, (-2.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0)),
    UrlParam("write_most", 24, range(1, 65)),
    UrlParam("write_from", -1, range(-1, 1024)),  # number of given tokens; -1: the page chooses
    UrlParam("write_step", 0, range(64)),
    BranchesParam("write_branches", ()),
    UrlParam("write_overlay", ("beam",), ("beam", "sampling"), is_multiple=True),
    UrlParam("write_path", "g", WRITING_PATHS),  # the path whose candidates are shown
    UrlParam("write_layer", -1, range(-1, 256)),  # -1: the last
    UrlParam("write_true", ""),  # the reference text; "": that of the run
    UrlParam("write_slip", -1, range(-1, 64)),  # step of the forced error; 0: none; -1: the page chooses
    UrlParam("write_head", 0, range(256 * 16)),
    UrlParam("write_cost", "flops", ("flops", "time")),
    UrlParam("train_section", "run", ("run", "experiments")),
    UrlParam("train_job", ""),  # the number of a training job of this server
    UrlParam("train_task", "reverse", TRAINING_TASKS),
    *(UrlParam(f"train_{name}", -1, range(-1, most + 1)) for name, most in TASK_PARAMETERS.items()),  # -1: the task's default
    UrlParam("train_model", "small", TRAINING_MODELS),
    UrlParam("train_recipe", "", max_chars=MAX_RECIPE_CHARS),  # the recipe of weights that this server lacks
    UrlParam("train_steps", 300, (50, 100, 200, 300, 500, 1000, 2000, 3000, 5000, 10000)),
    UrlParam("train_rate", 1e-3, (1e-4, 3e-4, 1e-3, 2e-3, 3e-3, 1e-2, 3e-2, 0.1, 1.0)),
    UrlParam("train_warmup", 0, (0, 50, 100, 200, 400, 1000)),
    UrlParam("train_decay", False, (False, True)),
    UrlParam("train_batch", 32, (1, 4, 8, 16, 32, 64, 128)),
    UrlParam("train_clip", 0.0, (0.0, 0.1, 1.0, 10.0)),  # 0: no clipping
    UrlParam("train_data_seed", 0, range(10000)),
    UrlParam("train_target", 0.0, (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)),  # the loss at which training stops; 0: none
    UrlParam("train_patience", 0, (0, 2, 4, 8, 16)),
    UrlParam("train_moment", -1, range(-1, 1_000_000)),  # the step of the snapshot that is shown; -1: the newest
    UrlParam("train_look", "attention", ("attention", "answers", "gradients", "induction")),
    UrlParam("train_map", ""),  # the layer whose attention is shown; "": the last
    UrlParam("train_number", "loss", ("loss", "accuracy")),
    UrlParam("train_experiment", ""),
    UrlParam("train_setup", "norm", (*TRAINING_SETUPS, CUSTOM_FACTOR)),
    UrlParam("train_factor", "config.norm", tuple(TRAINING_FACTORS)),
    UrlParam("train_values", (), tuple(dict.fromkeys(v for values in TRAINING_FACTORS.values() for v in values)), is_multiple=True),
    UrlParam("train_seeds", 3, range(1, 6)),
    # Masks
    UrlParam("mask_section", "who", ("who", "built", "conventions", "effect", "leak", "empty", "unsqueeze")),
    UrlParam("mask_kind", "", ("", *ATTENTION_KINDS)),  # "" and -1: the page chooses
    UrlParam("mask_query", -1, range(-1, 1024)),
    UrlParam("mask_key", -1, range(-1, 1024)),
    UrlParam("mask_layer", -1, range(-1, 256)),
    UrlParam("mask_head", -1, range(-1, 256)),
    UrlParam("mask_switch", "", ("", "causal", "mask_source_padding", "mask_target_padding", "mask_padded_queries")),
    UrlParam("mask_place", -1, range(-1, 1024)),
    UrlParam("mask_word", ""),
    UrlParam("mask_turns", False, (False, True)),
    # Norms
    UrlParam("norm_section", "depth", ("depth", "theory", "gradients", "token", "batchnorm", "distributions")),
    UrlParam("norm_depth", 24, range(1, 49)),
    UrlParam("norm_width", 128, (16, 32, 64, 128, 256)),
    UrlParam("norm_init", "xavier_uniform", CHOICES["init"]),
    UrlParam("norm_placements", ("post", "pre"), PLACEMENTS, is_multiple=True, old_values=OLD_PLACEMENT_NAMES),
    UrlParam("norm_metric", "power", ("power", "mean", "std", "largest", "cosine", "inactive", "entropy")),
    UrlParam("norm_lit", "", ("", "self_attn.out", "resid_mid", "norm_self_attn.out", "ffn.out", "resid_post", "norm_ffn.out")),
    UrlParam("norm_broken", (), ("gaussian", "uniform", "unbiased", "single", "square", "normal"), is_multiple=True),
    UrlParam("norm_draws", 4, (1, 4, 16)),
    UrlParam("norm_batches", 4, (1, 2, 4, 8, 16)),
    UrlParam("norm_side", "source", ("source", "target")),  # one token; LayerNorm and BatchNorm; distributions
    UrlParam("norm_which", "", ("", "self_attn", "cross_attn", "ffn", "embed", "final")),  # "": the page chooses
    UrlParam("norm_layer", 0, range(48)),
    UrlParam("norm_token", 1, range(1024)),
    UrlParam("norm_feature", -1, range(-1, 1024)),  # -1: the page chooses
    UrlParam("norm_epsilon", "own", ("own", *EPSILONS)),
    UrlParam("norm_stage", ""),
    UrlParam("norm_leaf", ""),
    UrlParam("norm_scale", "auto", ("auto", "linear", "log")),
)
