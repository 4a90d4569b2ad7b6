"""The declaration of the page Documents: its names, sections, link parameters and states."""

from viz_core.messages import lazy
from viz_core.ui.declarations.page_spec import PageSpec
from viz_core.ui.declarations.url_param import UrlParam

PAGE = PageSpec(
    name="documents",
    title=lazy("Documents"),
    icon=":material/menu_book:",
    question=lazy("Five documents, one model: where do they agree?"),
    introduction=lazy("Five texts explain the Transformer, each with its own code. In this app each is a preset of one model."),
    home_text=lazy("five texts side by side"),
    group=lazy("Reference"),
    figure_key="documents_table",
    own_url_params=(
        UrlParam("documents_rows", "all", ("all", "differ", "words", "agree")),
    ),
)
