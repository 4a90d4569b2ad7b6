"""The declaration of the page Training: its names, sections, link parameters and states."""

import itertools
from collections.abc import Mapping

from viz_core.config import CHOICES
from viz_core.config.limits import MAX_RECIPE_CHARS
from viz_core.messages import lazy
from viz_core.ui.declarations.page_spec import PageSection, PageSpec
from viz_core.ui.declarations.url_param import UrlParam

# The tasks of interactive training, repeated here because that package imports torch; a test compares them.
TRAINING_TASKS = ("copy", "reverse", "sort", "majority", "induction", "next-word", "translate", "sentence", "fill-in", "restore")
TASK_PARAMETERS = {  # name → the largest value that any task allows
    "length": 120, "shortest": 60, "symbols": 64, "repeat": 60, "source": 99, "sentences": 8000, "longest": 20, "damage": 60,
}
TRAINING_MODELS = (  # a small model, the model of the sidebar, or that of a document
    "small", "model", "000", "001", "002", "003", "004", "004-encoder-only", "004-decoder-only", "004-encoder-decoder",
)
EXPERIMENT_NAMES = ("norm", "mask", "residual", "scale-scores", "scale-embedding", "positions", "lengths", "induction")
CUSTOM_FACTOR = "own"
TRAINING_FACTORS: Mapping[str, tuple[str, ...]] = {  # field of a recipe → the values that are compared, as written in a link
    "config.norm": CHOICES["norm"], "config.position": CHOICES["position"], "config.activation": CHOICES["activation"],
    **{f"config.{name}": ("on", "off") for name in ("residual", "scale_scores", "scale_embedding", "causal")},
    "config.n_heads": ("1", "2", "4", "8"), "learning_rate": ("0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03"),
    "warmup": ("0", "50", "100", "200", "400"), "batch": ("4", "8", "16", "32", "64", "128"),
}

PAGE = PageSpec(
    name="training",
    title=lazy("Training"),
    icon=":material/model_training:",
    question=lazy("How does a model learn?"),
    introduction=lazy("A model begins with random weights. Each step of training reads some rows of a task, measures how "
    "wrong the answers are, and changes every weight a little in the direction that makes them less wrong. "
    "Everything on this page is a real run on this server, from the first step to the last."),
    home_text=lazy("a model learns while you watch"),
    section_param="train_section",
    sections=(PageSection("run", lazy("One run"), "lab_picture"), PageSection("experiments", lazy("Experiments"), "train_bands")),
    own_url_params=(
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
        UrlParam("train_setup", "norm", (*EXPERIMENT_NAMES, CUSTOM_FACTOR)),
        UrlParam("train_factor", "config.norm", tuple(TRAINING_FACTORS)),
        UrlParam("train_values", (), tuple(dict.fromkeys(itertools.chain(*TRAINING_FACTORS.values()))), is_multiple=True),
        UrlParam("train_seeds", 3, range(1, 6)),
    ),
    heatmaps=("train_maps", "train_answers", "train_gradients", "train_induction", "train_lengths"),
    components=("train_curves", "train_scrubber", "train_bands", "train_file", "train_download"),
    states=(
        {"train_look": "attention", "train_task": "next-word"},
        {"train_look": "answers", "train_task": "sort"},
        {"train_look": "gradients", "train_task": "fill-in"},
        {"train_look": "induction", "train_task": "induction"},
        {"train_number": "accuracy", "train_length": "4"},
        {"train_recipe": "none"},
        {"train_job": "gone", "train_model": "002"},
        {"train_section": "experiments"},
        {"train_section": "experiments", "train_setup": CUSTOM_FACTOR, "train_values": "post,pre"},
        *({"train_section": "experiments", "train_setup": setup} for setup in ("mask", "lengths", "induction")),
    ),
)
