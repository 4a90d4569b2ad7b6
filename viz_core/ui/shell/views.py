"""The table of link parameters that hold the selections of all pages. This module does not import Streamlit.

A parameter has a name (which begins with the page's name), a default, and allowed values. A link holds only values that differ
from the default, and every value in a link is checked when it is read.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from viz_core.config import CHOICES
from viz_core.language import translate as _
from viz_core.limits import MAX_KEPT_CHARS, MAX_RECIPE_CHARS, MAX_VIEW_CHARS, MAX_WRITTEN


@dataclass(frozen=True, slots=True)
class View:
    """One link parameter.

    options: the allowed values; None for text of at most `max_chars` characters. is_multiple: whether the value is a tuple of
    options. old_values: values in older links, with the present ones. old_name: the parameter's name in older links.
    """

    name: str
    default: Any
    options: Sequence[Any] | None = None
    many: bool = False
    most: int = MAX_VIEW_CHARS
    renamed: Mapping[str, str] = field(default_factory=dict)
    once: str = ""

    def write(self, value: Any) -> str:
        """Return a value as text for a link."""
        return ",".join(map(_plain, value)) if self.many else _plain(value)

    def read(self, text: str) -> Any:
        """Return the value of a text from a link. Raises `ValueError` with what is wrong, without repeating the text."""
        if self.options is None:
            if len(text) > self.most:
                raise ValueError(_("is longer than {most:,} characters", most=self.most))
            return self.renamed.get(text, text)
        if self.many:
            return tuple(dict.fromkeys(self._one(part) for part in text.split(",") if part))
        return self._one(text)

    def _one(self, text: str) -> Any:
        assert self.options is not None
        text = self.renamed.get(text, text)
        if isinstance(self.options, range):
            low, high = max(self.options[0], 0), self.options[-1]  # lower values, like "", mean that the page chooses
            digits = text.removeprefix("-")
            if not (digits.isascii() and digits.isdigit() and len(digits) < 10 and int(text) in self.options):
                step = " " + _("in steps of {step}", step=self.options.step) if self.options.step > 1 else ""
                raise ValueError(_("is not a whole number from {low} to {high}{step}", low=low, high=high, step=step))
            return int(text)
        for option in self.options:
            if _plain(option) == text:
                return option
        named = [_plain(option) for option in self.options if option != ""]
        raise ValueError(_("is not one of {named}",
                           named=", ".join(named) if len(named) <= 12 else _("the choices that the page offers")))


@dataclass(frozen=True, slots=True)
class Cells(View):
    """The picked cells, at most one per heatmap: a tuple of (heatmap, panel, row, column), in a link walk_canvas.1.0.3.

    options: the heatmaps. A heatmap name alone means that nothing is picked, in a heatmap where the page would pick a cell.
    """

    def write(self, value: Any) -> str:
        return ",".join(".".join(map(str, cell)) for cell in value)

    def read(self, text: str) -> Any:
        found = {}
        for part in filter(None, text.split(",")):
            canvas, *place = _present_place(*part.split("."))
            number = all(n.isascii() and n.isdigit() and len(n) <= MAX_CELL_DIGITS for n in place)
            if canvas not in (self.options or ()) or len(place) not in (0, 3) or not number:
                raise ValueError(_("does not name a matrix of this app, then one of its panels, a row and a column by their "
                                   "numbers"))
            found[canvas] = (canvas, *map(int, place))
        return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Branches(View):
    """The branches of the text tree: a tuple of (path, step, ids), in a link g.3.17 or g.3.17-4.

    The path that a branch leaves is g (greedy), b (the best beam), b2 to b8 (the other beams), s1 or s2 (samples), or the number of
    an earlier branch, from 1.
    """

    def write(self, value: Any) -> str:
        return ",".join(f"{path}.{step}.{'-'.join(map(str, ids))}" for path, step, ids in value)

    def read(self, text: str) -> Any:
        parts = text.split(",") if text else []
        found = [BRANCH.fullmatch(part) for part in parts]
        known = all(m and (not m[1].isdigit() or int(m[1]) <= i) and int(m[2]) < MAX_WRITTEN for i, m in enumerate(found))
        read = tuple((m[1], int(m[2]), tuple(map(int, m[3].split("-")))) for m in found if m)
        if not known or len(parts) > MAX_BRANCHES or any(step + len(ids) > MAX_WRITTEN for __, step, ids in read):
            raise ValueError(_("does not name at most {most} branches, each a path, a step and ids, such as g.3.17",
                               most=MAX_BRANCHES))
        return read


@dataclass(frozen=True, slots=True)
class Patched(View):
    """The site at which B is patched with a value of A: (stack, part, layer, head, token), in a link encoder.residual.1.3.

    layer: -1 for the embedding, in a link "embed". A head is patched at all tokens, in a link decoder.cross_attn.2.h5; otherwise
    the last number is the token index in A, from 0. () if nothing is patched.
    """

    def write(self, value: Any) -> str:
        if not value:
            return ""
        stack, part, layer, head, token = value
        return f"{stack}.{part}.{'embed' if layer < 0 else layer}.{token if head is None else f'h{head}'}"

    def read(self, text: str) -> Any:
        if not text:
            return ()
        found = PATCH.fullmatch(text)
        stack, part, layer, at = found.groups() if found else ("", "", "", "")
        head, token = (int(at[1:]), None) if at.startswith("h") else (None, int(at or 0))
        if not found or (layer == "embed" and part != "residual") or (head is not None and not part.endswith("attn")):
            raise ValueError(_("does not name a place in the model, such as encoder.residual.1.3 or decoder.cross_attn.2.h5"))
        return stack, part, -1 if layer == "embed" else int(layer), head, token


def _present_place(canvas: str, *place: str) -> tuple[str, ...]:
    """Return a cell of a link, with the heatmap and panel that have it now if older links used others."""
    moved = dict(zip(("0", "1"), MOVED_PANELS.get(canvas, ()), strict=False))
    if not place or place[0] not in moved:
        return canvas, *place
    now, panel = moved[place[0]]
    return now, str(panel), *place[1:]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


LEDGER_COLUMNS = (
    "symbolic_shape", "dtype", "parameters", "flops", "bytes", "statistics", "documents", "torch", "hugging_face",
    "transformer_lens", "sequence_first",
)
RENAMED_COLUMNS = {
    "symbolic shape": "symbolic_shape", "FLOPs": "flops", "Hugging Face": "hugging_face", "TransformerLens": "transformer_lens",
    "sequence-first": "sequence_first",
}
RENAMED_PARTS = {"feed-forward": "feed_forward", "LayerNorm": "layer_norm", "residual stream": "residual_stream"}
RENAMED_BLOCKS = {
    "Inputs": "inputs", "Masks": "masks", "Output": "output",
    **{f"{side.capitalize()} {part}": f"{side}_{part.replace(' ', '_')}" for side in ("encoder", "decoder")
       for part in ("embedding", "final norm", *(f"layer {i}" for i in range(48)))},
}

PLACEMENTS = ("post", "pre", "pre_no_final", "none", "post_no_residual", "plain")  # of the LayerNorms
RENAMED_PLACEMENTS = {"open": "pre_no_final", "cut": "post_no_residual", "bare": "plain"}
SENTENCES = {  # example sentences of the documents, for Positions
    "i_love_you_chinese": "我爱你", "dog_bites_man_chinese": "狗咬人", "i_love_you": _("I love you"),
    "dog_bites_man": _("the dog bites the man"),
}

ATTENTION_KINDS = ("encoder", "decoder", "cross")
ATTENTION_HEADS = tuple(f"{kind}.{layer}.{head}" for kind in ATTENTION_KINDS for layer in range(48) for head in range(16))
EPSILONS = ("0", *(f"{float(f'1e{p}'):g}" for p in range(-12, 3)))  # values that LayerNorm may add to the variance, as in a link

PATCH = re.compile(r"(encoder|decoder)\.(residual|self_attn|cross_attn|ffn)\.(embed|[0-9]{1,3})\.(h[0-9]{1,2}|[0-9]{1,4})")
BRANCH = re.compile(r"(g|b[2-8]?|s1|s2|[1-8])\.([0-9]{1,2})\.([0-9]{1,6}(?:-[0-9]{1,6})*)")
MAX_BRANCHES, MAX_BEAMS = 8, 8  # in one tree
WRITE_PATHS = ("g", "b", *(f"b{n}" for n in range(2, MAX_BEAMS + 1)), "s1", "s2", *map(str, range(1, MAX_BRANCHES + 1)))
# The tasks of interactive training, repeated here because that package imports torch; a test compares them.
TRAINING_TASKS = ("copy", "reverse", "sort", "majority", "induction", "next-word", "translate", "sentence", "fill-in", "restore")
TASK_PARAMETERS = {  # name → the largest value that any task allows
    "length": 120, "shortest": 60, "symbols": 64, "repeat": 60, "source": 99, "sentences": 8000, "longest": 20, "damage": 60,
}
TRAINING_MODELS = (  # a small model, the model of the sidebar, or that of a document
    "small", "model", "000", "001", "002", "003", "004", "004-encoder-only", "004-decoder-only", "004-encoder-decoder",
)
TRAINING_SETUPS = ("norm", "mask", "residual", "scale-scores", "scale-embedding", "positions", "lengths", "induction")
OWN_FACTOR = "own"
TRAINING_FACTORS: Mapping[str, tuple[str, ...]] = {  # field of a recipe → the values that are compared, as written in a link
    "config.norm": CHOICES["norm"], "config.position": CHOICES["position"], "config.activation": CHOICES["activation"],
    **{f"config.{name}": ("on", "off") for name in ("residual", "scale_scores", "scale_embedding", "causal")},
    "config.n_heads": ("1", "2", "4", "8"), "learning_rate": ("0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03"),
    "warmup": ("0", "50", "100", "200", "400"), "batch": ("4", "8", "16", "32", "64", "128"),
}
MAX_CELL_DIGITS = 6  # of a row or column: enough for any vocabulary or width that is drawn
MAX_SIZE_CHARS = 2000  # of the size that Shapes compares with: enough for all fields of a config

# The heatmaps whose picked cell is in the parameter `cells`. Where the picked cell is the page's focus, it has its own parameters.
CANVASES = (
    "home_ids", "walk_canvas", "att_rollout", "att_broken", "att_hidden",
    "mask_built", "mask_written", "mask_effect", "mask_leak", "mask_reach", "mask_spread", "mask_empty_0", "mask_empty_2",
    "mask_empty_4", "mask_unsqueeze", "pos_table", "pos_window", "pos_shift", "pos_similarity", "pos_parts",
    "pos_schemes", *(f"pos_added_{position}" for position in CHOICES["position"] if position != "none"),
    "pos_detail", "pos_detail_own", "pos_detail_trained", "pos_detail_untrained", "pos_moved", "write_attended",
    "write_rows", "cause_lens", "train_maps", "train_answers", "train_gradients", "train_induction", "train_lengths",
)
# For each heatmap name of older links, the present (heatmap, panel) of each of its panels.
MOVED_PANELS = {
    f"pos_attention_{position}": (("pos_schemes", i), (f"pos_added_{position}", 0))
    for i, position in enumerate(CHOICES["position"])
}
FOLDS = ("all_switches", "home_choices", "proof_more", "norm_more", "norm_statements", "shapes_cost")

VIEWS: tuple[View, ...] = (
    # Every page
    Cells("cells", (), CANVASES),
    View("open", (), FOLDS, many=True),
    View("kept", "", most=MAX_KEPT_CHARS, once="att_a"),  # the setup kept as A, as a query string
    View("shown", "difference", ("a", "b", "difference")),  # which of the runs A and B, or A − B
    Patched("patch", ()),  # the site at which B is patched with a value of A
    View("present", False, (False, True)),  # presenter's mode
    View("glosses", True, (False, True)),  # dictionary words, if the weights have any
    View("note", ""),  # a note that came with the link
    # Home
    View("home_after", -1, range(-1, 1024)),  # -1: the page chooses
    # Step by step
    View("walk_mode", "whole", ("whole", "tour")),
    View("walk_norms", False, (False, True)),
    View("walk_jump", False, (False, True)),
    View("walk_follow", -1, range(-1, 1024)),  # the token that the tour follows; -1: the page chooses
    View("walk_drawing", False, (False, True)),  # whether the architecture is shown in place of the matrices
    View("walk_look", "stage", ("stage", "parting")),  # of two runs: one stage, or where they diverge
    View("walk_rows", "stream", ("stream", "all")),  # whose distances are shown: the residual stream, or all stages
    # Shapes
    View("shapes_filter", ""),
    View("shapes_block", "all", renamed=RENAMED_BLOCKS),
    View("shapes_part", "all", renamed=RENAMED_PARTS),
    View("shapes_columns", (), LEDGER_COLUMNS, many=True, renamed=RENAMED_COLUMNS),
    View("shapes_before", "", most=MAX_SIZE_CHARS),  # the size against which changes are marked; "": nothing is marked
    View("shapes_marked", False, (False, True)),
    # Documents
    View("documents_rows", "all", ("all", "differ", "words", "agree")),
    # Positions
    View("pos_section", "waves", ("waves", "matrix", "clock", "similarity", "sentence", "schemes", "experiments")),
    View("pos_length", 100, range(1, 5001)),  # the page's own table, as in the plot of document 001
    View("pos_width", 20, range(1, 1025)),
    View("pos_base", "10000"),
    View("pos_dims", (4, 5, 6, 7), range(1024), many=True),
    View("pos_at", 10, range(5000)),
    View("pos_row", 0, range(5000)),  # first row of the window at full precision
    View("pos_col", 0, range(1024)),
    View("pos_k", 3, range(101)),
    View("pos_side", "source", ("source", "target")),
    View("pos_scale", "model", ("model", "with", "without")),
    View("pos_scheme", "sinusoidal", CHOICES["position"]),
    View("pos_query", -1, range(-1, 1024)),  # -1: the page chooses
    View("pos_key", -1, range(-1, 1024)),
    View("pos_sentence", "yours", ("yours", *SENTENCES), renamed={text: name for name, text in SENTENCES.items()}),
    View("pos_experiment", "swap", ("swap", "shuffle", "prepend", "past", "longer")),
    View("pos_way", "moved", ("moved", "row")),  # longer than trained: later positions, or several sentences in a row
    View("pos_moved", 8, (1, 2, 4, 8, 12, 16, 24, 40, 64)),
    View("pos_row_of", 2, (2, 3, 4, 6, 8)),
    View("pos_a", -1, range(-1, 1024)),
    View("pos_b", -1, range(-1, 1024)),
    View("pos_draw", 0, range(1000)),
    View("pos_front", "today"),
    # Attention
    View("att_show", "all", ("all", *ATTENTION_KINDS)),
    View("att_kind", "", ("", *ATTENTION_KINDS)),  # "" and -1: the page chooses
    View("att_layer", -1, range(-1, 256)),
    View("att_query", -1, range(-1, 1024)),
    View("att_key", -1, range(-1, 1024)),
    View("att_lock", "", ("", "query", "key")),
    View("att_step", "weights", ("raw", "scaled", "biased", "masked", "weights")),
    View("att_colour", "largest", ("largest", "one", "uniform")),
    View("att_words", False, (False, True)),
    View("att_without_special", False, (False, True)),  # whether pictures leave out [CLS] and the like
    View("att_heads", (), ("none", *range(64)), many=True),  # those overlaid in the lines; (): the one in focus
    View("att_more", "none", ("none", "table", "rollout", "break")),
    View("att_after", -1, range(-1, 256)),
    View("att_off", (), ("none", *ATTENTION_HEADS), many=True),  # (), and nothing else changed: the page chooses
    View("att_unscaled", False, (False, True)),
    View("att_temperature", 1.0, (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)),
    # Cause and effect
    View("cause_section", "patching", ("patching", "lens", "attribution", "heads")),
    View("cause_part", "residual", ("residual", "sublayers", "heads")),
    View("cause_direction", "denoise", ("denoise", "noise")),
    View("cause_word", ""),  # "" and -1: the page chooses
    View("cause_other", ""),
    View("cause_at", -1, range(-1, 1024)),
    View("cause_run", "clean", ("clean", "changed")),  # the run of the logit lens and the attribution
    View("cause_lens", "chance", ("chance", "rank")),
    View("cause_alone", False, (False, True)),  # the logit of the word alone
    View("cause_kind", "", ("", *ATTENTION_KINDS)),
    View("cause_key", -1, range(-1, 1024)),
    View("cause_measure", "ablated", ("ablated", "denoise", "noise")),
    # Writing
    View("write_section", "choose", ("choose", "branch", "forcing", "cache")),
    View("write_strategy", "greedy", ("greedy", "sampling", "beam")),
    View("write_temperature", 1.0, (0.1, 0.25, 0.5, 0.7, 1.0, 1.5, 2.0, 4.0)),
    View("write_top_k", 0, range(100001)),  # 0: all words
    View("write_top_p", 1.0, (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)),
    View("write_seed", 0, range(10000)),
    View("write_beams", 4, range(1, MAX_BEAMS + 1)),
    View("write_penalty", 1.0, (-2.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0)),
    View("write_most", 24, range(1, 65)),
    View("write_from", -1, range(-1, 1024)),  # number of given tokens; -1: the page chooses
    View("write_step", 0, range(64)),
    Branches("write_branches", ()),
    View("write_overlay", ("beam",), ("beam", "sampling"), many=True),
    View("write_path", "g", WRITE_PATHS),  # the path whose candidates are shown
    View("write_layer", -1, range(-1, 256)),  # -1: the last
    View("write_true", ""),  # the reference text; "": that of the run
    View("write_slip", -1, range(-1, 64)),  # step of the forced error; 0: none; -1: the page chooses
    View("write_head", 0, range(256 * 16)),
    View("write_cost", "flops", ("flops", "time")),
    View("train_section", "run", ("run", "experiments")),
    View("train_job", ""),  # the number of a training job of this server
    View("train_task", "reverse", TRAINING_TASKS),
    *(View(f"train_{name}", -1, range(-1, most + 1)) for name, most in TASK_PARAMETERS.items()),  # -1: the task's default
    View("train_model", "small", TRAINING_MODELS),
    View("train_recipe", "", most=MAX_RECIPE_CHARS),  # the recipe of weights that this server lacks
    View("train_steps", 300, (50, 100, 200, 300, 500, 1000, 2000, 3000, 5000, 10000)),
    View("train_rate", 1e-3, (1e-4, 3e-4, 1e-3, 2e-3, 3e-3, 1e-2, 3e-2, 0.1, 1.0)),
    View("train_warmup", 0, (0, 50, 100, 200, 400, 1000)),
    View("train_decay", False, (False, True)),
    View("train_batch", 32, (1, 4, 8, 16, 32, 64, 128)),
    View("train_clip", 0.0, (0.0, 0.1, 1.0, 10.0)),  # 0: no clipping
    View("train_data_seed", 0, range(10000)),
    View("train_target", 0.0, (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)),  # the loss at which training stops; 0: none
    View("train_patience", 0, (0, 2, 4, 8, 16)),
    View("train_moment", -1, range(-1, 1_000_000)),  # the step of the snapshot that is shown; -1: the newest
    View("train_look", "attention", ("attention", "answers", "gradients", "induction")),
    View("train_map", ""),  # the layer whose attention is shown; "": the last
    View("train_number", "loss", ("loss", "accuracy")),
    View("train_experiment", ""),
    View("train_setup", "norm", (*TRAINING_SETUPS, OWN_FACTOR)),
    View("train_factor", "config.norm", tuple(TRAINING_FACTORS)),
    View("train_values", (), tuple(dict.fromkeys(v for values in TRAINING_FACTORS.values() for v in values)), many=True),
    View("train_seeds", 3, range(1, 6)),
    # Masks
    View("mask_section", "who", ("who", "built", "conventions", "effect", "leak", "empty", "unsqueeze")),
    View("mask_kind", "", ("", *ATTENTION_KINDS)),  # "" and -1: the page chooses
    View("mask_query", -1, range(-1, 1024)),
    View("mask_key", -1, range(-1, 1024)),
    View("mask_layer", -1, range(-1, 256)),
    View("mask_head", -1, range(-1, 256)),
    View("mask_switch", "", ("", "causal", "mask_source_padding", "mask_target_padding", "mask_padded_queries")),
    View("mask_place", -1, range(-1, 1024)),
    View("mask_word", ""),
    View("mask_turns", False, (False, True)),
    # Norms
    View("norm_section", "depth", ("depth", "theory", "gradients", "token", "batchnorm", "distributions")),
    View("norm_depth", 24, range(1, 49)),
    View("norm_width", 128, (16, 32, 64, 128, 256)),
    View("norm_init", "xavier_uniform", CHOICES["init"]),
    View("norm_placements", ("post", "pre"), PLACEMENTS, many=True, renamed=RENAMED_PLACEMENTS),
    View("norm_metric", "power", ("power", "mean", "std", "largest", "cosine", "inactive", "entropy")),
    View("norm_lit", "", ("", "self_attn.out", "resid_mid", "norm_self_attn.out", "ffn.out", "resid_post", "norm_ffn.out")),
    View("norm_broken", (), ("gaussian", "uniform", "unbiased", "single", "square", "normal"), many=True),
    View("norm_draws", 4, (1, 4, 16)),
    View("norm_batches", 4, (1, 2, 4, 8, 16)),
    View("norm_side", "source", ("source", "target")),  # one token; LayerNorm and BatchNorm; distributions
    View("norm_which", "", ("", "self_attn", "cross_attn", "ffn", "embed", "final")),  # "": the page chooses
    View("norm_layer", 0, range(48)),
    View("norm_token", 1, range(1024)),
    View("norm_feature", -1, range(-1, 1024)),  # -1: the page chooses
    View("norm_epsilon", "own", ("own", *EPSILONS)),
    View("norm_stage", ""),
    View("norm_leaf", ""),
    View("norm_scale", "auto", ("auto", "linear", "log")),
)
