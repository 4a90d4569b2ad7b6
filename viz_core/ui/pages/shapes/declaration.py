"""The declaration of the page Shapes: its names, sections, link parameters and states."""

from viz_core.messages import lazy
from viz_core.ui.declarations.page_spec import PageSpec
from viz_core.ui.declarations.url_param import UrlParam

COLUMN_GROUPS = (
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
MAX_SIZE_CHARS = 2000  # of the size that Shapes compares with: enough for all fields of a config

PAGE = PageSpec(
    name="shapes",
    title=lazy("Shapes"),
    icon=":material/straighten:",
    question=lazy("What shape is every tensor, and what does it cost?"),
    introduction=lazy("This table lists every tensor of the run in the order of computation. Look for the head axis (H), "
    "which exists only inside attention, and for the T × S matrices of queries by keys. Click a name to open the "
    "tensor in Step by step."),
    home_text=lazy("the size and cost of every tensor"),
    group=lazy("Reference"),
    figure_key="shapes_table",
    compares_runs=True,
    own_url_params=(
        UrlParam("shapes_filter", ""),
        UrlParam("shapes_block", "all", old_values=OLD_BLOCK_NAMES),
        UrlParam("shapes_part", "all", old_values=OLD_PART_NAMES),
        UrlParam("shapes_columns", (), COLUMN_GROUPS, is_multiple=True, old_values=OLD_COLUMN_NAMES),
        UrlParam("shapes_before", "", max_chars=MAX_SIZE_CHARS),  # the size against which changes are marked; "": nothing is marked
        UrlParam("shapes_marked", False, (False, True)),
    ),
    expanders=("shapes_cost",),
    components=("shapes_table",),
    states=(
        {},
        {"shapes_columns": "symbolic shape,dtype,parameters,FLOPs,bytes,statistics,sequence-first", "open": "shapes_cost"},
        {"shown": "difference", "n_heads": "4"},
    ),
)
