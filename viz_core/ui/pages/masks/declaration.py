"""The declaration of the page Masks: its names, sections, link parameters and states."""

from viz_core.messages import lazy
from viz_core.ui.declarations.page_spec import PageSection, PageSpec
from viz_core.ui.declarations.url_param import ATTENTION_KINDS, UrlParam

PAGE = PageSpec(
    name="masks",
    title=lazy("Masks"),
    icon=":material/grid_on:",
    question=lazy("Which tokens may attend to which, and what happens when a mask is wrong?"),
    introduction=lazy("Without a mask, every query attends to every key. A mask blocks keys that a query should not use: "
    "padding, which carries no information, and future tokens, which the model has yet to predict."),
    home_text=lazy("which tokens may attend to which"),
    group=lazy("The parts"),
    section_param="mask_section",
    compares_runs=True,
    sections=(
        PageSection("who", lazy("Reasons"), "mask_map"),
        PageSection("built", lazy("Construction"), "mask_built"),
        PageSection("conventions", lazy("Conventions"), "mask_written"),
        PageSection("effect", lazy("Effect"), "mask_effect"),
        PageSection("leak", lazy("Leak test"), "mask_leak"),
        PageSection("empty", lazy("Fully masked rows"), "mask_spread"),
        PageSection("unsqueeze", lazy("A mask bug"), "mask_unsqueeze"),
    ),
    own_url_params=(
        UrlParam("mask_kind", "", ("", *ATTENTION_KINDS)),  # "" and -1: the page chooses
        UrlParam("mask_query", -1, range(-1, 1024)),
        UrlParam("mask_key", -1, range(-1, 1024)),
        UrlParam("mask_layer", -1, range(-1, 256)),
        UrlParam("mask_head", -1, range(-1, 256)),
        UrlParam("mask_switch", "", ("", "causal", "mask_source_padding", "mask_target_padding", "mask_padded_queries")),
        UrlParam("mask_place", -1, range(-1, 1024)),
        UrlParam("mask_word", ""),
        UrlParam("mask_turns", False, (False, True)),
    ),
    heatmaps=(
        "mask_built", "mask_written", "mask_effect", "mask_leak", "mask_reach", "mask_spread", "mask_empty_0",
        "mask_empty_2", "mask_empty_4", "mask_unsqueeze",
    ),
    focus_params={"mask_map": ("mask_query", "mask_key")},
)
