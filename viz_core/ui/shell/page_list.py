"""The table of pages, from which the navigation, the titles, the links on Home and the tests are made.

Each page also has a script of its name in `pages/` and a package in `viz_core.ui.pages`.
"""

from dataclasses import dataclass

from viz_core.messages import Message, translate_fields


@dataclass(frozen=True, slots=True)
@translate_fields
class PageSection:
    """One section of a page.

    name: its value in the link. title: its label in the section control. figure_key: the key of its main picture, or
    "lab_picture" where several elements form the main picture.
    """

    name: str
    title: Message
    figure_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
@translate_fields
class PageSpec:
    """One page.

    name: of its script in `pages/`, and its URL. title, icon, group: in the navigation. question: its heading. introduction: a
    few sentences in Markdown, shown by the About button ("" for none). home_text: the text of its link on Home. figure_key: the
    key of its main picture, which fills the first screen. sections: its sections, if it has several, each with its own main
    picture. section_param: the link parameter of the selected section. compares_runs: whether the page can show the run beside
    the one that was kept as A.
    """

    name: str
    title: Message
    icon: str
    question: Message
    introduction: Message = ""
    home_text: Message = ""
    group: Message = ""
    figure_key: str = ""
    sections: tuple[PageSection, ...] = ()
    section_param: str = ""
    compares_runs: bool = False

    @property
    def path(self) -> str:
        """The path of its script, as `st.switch_page` takes it."""
        return f"pages/{self.name}.py"


PAGES: dict[str, PageSpec] = {
    p.name: p
    for p in (
        PageSpec(
            name="home",
            title="Home",
            icon=":material/home:",
            question="Attention Lab: watch a Transformer read your sentence",
            introduction="Type a sentence on the left; a real Transformer runs on it immediately. The one that the app opens with "
            "translates everyday English into Chinese; it is small and was trained for this app. You can open and check "
            "every tensor on its way from word to prediction. Under Model you can also choose the untrained models of five "
            "documents, in which you can change every setting.",
            figure_key="home_words",
        ),
        PageSpec(
            name="step_by_step",
            title="Step by step",
            icon=":material/footprint:",
            question="How does one token become a prediction?",
            home_text="every number, from word to prediction",
            figure_key="walk_canvas",
            compares_runs=True,
        ),
        PageSpec(
            name="attention",
            title="Attention",
            icon=":material/hub:",
            question="Where does each head look?",
            introduction="In every layer, each head spreads an attention weight of 1 from every query over the keys that it "
            "may attend to. Each tile below is one head: its rows are query tokens, its columns key tokens. Look for cells "
            "that stand out.",
            home_text="which tokens each head attends to",
            section_param="att_more",
            compares_runs=True,
            sections=(
                PageSection("none", "Heads", "lab_picture"),
                PageSection("table", "Head statistics", "att_profiles"),
                PageSection("rollout", "Rollout", "att_rollout"),
                PageSection("break", "Ablation", "att_broken"),
            ),
        ),
        PageSpec(
            name="writing",
            title="Writing",
            icon=":material/edit_note:",
            question="How does a model write, word by word?",
            introduction="A decoder writes one token at a time: it gives every word of its vocabulary a logit, one word is "
            "chosen, and the decoder reads this word in the next step. Everything on this page is a real run of the chosen "
            "weights.",
            home_text="how each next word is chosen",
            section_param="write_section",
            sections=(
                PageSection("choose", "Choose", "write_choice"),
                PageSection("branch", "Branch", "lab_picture"),
                PageSection("forcing", "Teacher forcing", "write_losses"),
                PageSection("cache", "KV cache", "lab_picture"),
            ),
        ),
        PageSpec(
            name="cause",
            title="Cause and effect",
            icon=":material/science:",
            question="Which part of the model makes the difference?",
            introduction="Two sentences that differ in a word make the model answer differently. Here values of one run are "
            "put into the other, one at a time, and the answer is read again: a value that changes the answer is one of its "
            "causes. Attention weights say where a head reads; only such a change shows what it does.",
            home_text="what carries a difference from a word to the answer",
            section_param="cause_section",
            compares_runs=True,
            sections=(
                PageSection("patching", "Patching", "cause_maps"),
                PageSection("lens", "Logit lens", "cause_lens"),
                PageSection("attribution", "Attribution", "cause_shares"),
                PageSection("heads", "Attention and effect", "cause_heads"),
            ),
        ),
        PageSpec(
            name="training",
            title="Training",
            icon=":material/model_training:",
            question="How does a model learn?",
            introduction="A model begins with random weights. Each step of training reads some rows of a task, measures how "
            "wrong the answers are, and changes every weight a little in the direction that makes them less wrong. "
            "Everything on this page is a real run on this server, from the first step to the last.",
            home_text="a model learns while you watch",
            section_param="train_section",
            sections=(PageSection("run", "One run", "lab_picture"), PageSection("experiments", "Experiments", "train_bands")),
        ),
        PageSpec(
            name="masks",
            title="Masks",
            icon=":material/grid_on:",
            question="Which tokens may attend to which, and what happens when a mask is wrong?",
            introduction="Without a mask, every query attends to every key. A mask blocks keys that a query should not use: "
            "padding, which carries no information, and future tokens, which the model has yet to predict.",
            home_text="which tokens may attend to which",
            group="The parts",
            section_param="mask_section",
            compares_runs=True,
            sections=(
                PageSection("who", "Reasons", "mask_map"),
                PageSection("built", "Construction", "mask_built"),
                PageSection("conventions", "Conventions", "mask_written"),
                PageSection("effect", "Effect", "mask_effect"),
                PageSection("leak", "Leak test", "mask_leak"),
                PageSection("empty", "Fully masked rows", "mask_spread"),
                PageSection("unsqueeze", "A mask bug", "mask_unsqueeze"),
            ),
        ),
        PageSpec(
            name="positions",
            title="Positions",
            icon=":material/waves:",
            question="How does a Transformer know the order of the words?",
            introduction="Without positions and without a causal mask, attention treats a sentence as a set of words: it "
            "cannot tell 我爱你 from 你爱我. So each position gets its own encoding. The first Transformer used waves, from fast "
            "ones to very slow ones.",
            home_text="how the model learns about word order",
            group="The parts",
            section_param="pos_section",
            compares_runs=True,
            sections=(
                PageSection("waves", "Waves", "pos_waves"),
                PageSection("matrix", "Matrix", "pos_table"),
                PageSection("clock", "Clock", "pos_clock"),
                PageSection("similarity", "Similarity", "pos_similarity"),
                PageSection("sentence", "Your sentence", "pos_parts"),
                PageSection("schemes", "All schemes", "pos_schemes"),
                PageSection("experiments", "Experiments", "pos_experiment"),
            ),
        ),
        PageSpec(
            name="norms",
            title="Pre- and Post-LN",
            icon=":material/balance:",
            question="Why did Pre-LN replace Post-LN?",
            introduction="The first Transformers normalise each residual sum (Post-LN) and need a careful warm-up to train. "
            "Later ones normalise the input of each sub-layer and leave the sum alone (Pre-LN). The comparisons below use "
            "the same weights and the same sentence; only the place of the LayerNorm differs.",
            home_text="where the LayerNorm is placed, and why that matters",
            group="The parts",
            section_param="norm_section",
            sections=(
                PageSection("depth", "Depth", "norm_depth_chart"),
                PageSection("theory", "Theory", "norm_theory"),
                PageSection("gradients", "Gradients", "norm_gradients"),
                PageSection("token", "One token", "norm_steps"),
                PageSection("batchnorm", "LayerNorm and BatchNorm", "norm_cells"),
                PageSection("distributions", "Distributions", "norm_ridges"),
            ),
        ),
        PageSpec(
            name="shapes",
            title="Shapes",
            icon=":material/straighten:",
            question="What shape is every tensor, and what does it cost?",
            introduction="This table lists every tensor of the run in the order of computation. Look for the head axis (H), "
            "which exists only inside attention, and for the T × S matrices of queries by keys. Click a name to open the "
            "tensor in Step by step.",
            home_text="the size and cost of every tensor",
            group="Reference",
            figure_key="shapes_table",
            compares_runs=True,
        ),
        PageSpec(
            name="documents",
            title="Documents",
            icon=":material/menu_book:",
            question="Five documents, one model: where do they agree?",
            introduction="Five texts explain the Transformer, each with its own code. In this app each is a preset of one model.",
            home_text="five texts side by side",
            group="Reference",
            figure_key="documents_table",
        ),
    )
}
