"""The table of pages, from which the navigation, the titles, the links on Home and the tests are made.

Each page also has a script of its name in `pages/` and a package in `viz_core.ui.pages`.
"""

from dataclasses import dataclass

from viz_core.language import Message, translating


@dataclass(frozen=True, slots=True)
@translating
class Section:
    """One section of a page.

    name: its value in the link. title: its label in the section control. figure_key: the key of its main picture, or
    "lab_picture" where several elements form the main picture.
    """

    name: str
    title: Message
    picture: str


@dataclass(frozen=True, slots=True, kw_only=True)
@translating
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
    lead: Message = ""
    card: Message = ""
    group: Message = ""
    picture: str = ""
    sections: tuple[Section, ...] = ()
    section_view: str = ""
    compares: bool = False

    @property
    def path(self) -> str:
        """The path of its script, as `st.switch_page` takes it."""
        return f"pages/{self.name}.py"


PAGES: dict[str, PageSpec] = {
    p.name: p
    for p in (
        PageSpec(
            name="home", title="Home", icon=":material/home:",
            question="Attention Lab: watch a Transformer read your sentence",
            lead="Type a sentence on the left; a real Transformer runs on it immediately. The one that the app opens with "
            "translates everyday English into Chinese; it is small and was trained for this app. You can open and check "
            "every tensor on its way from word to prediction. Under Model you can also choose the untrained models of five "
            "documents, in which you can change every setting.",
            picture="home_words",
        ),
        PageSpec(
            name="step_by_step", title="Step by step", icon=":material/footprint:",
            question="How does one token become a prediction?",
            card="every number, from word to prediction", picture="walk_canvas", compares=True,
        ),
        PageSpec(
            name="attention", title="Attention", icon=":material/hub:",
            question="Where does each head look?",
            lead="In every layer, each head spreads an attention weight of 1 from every query over the keys that it may attend to. "
            "Each tile below is one head: its rows are query tokens, its columns key tokens. Look for cells that stand out.",
            card="which tokens each head attends to", section_view="att_more", compares=True,
            sections=(
                Section("none", "Heads", "lab_picture"), Section("table", "Head statistics", "att_profiles"),
                Section("rollout", "Rollout", "att_rollout"), Section("break", "Ablation", "att_broken"),
            ),
        ),
        PageSpec(
            name="writing", title="Writing", icon=":material/edit_note:",
            question="How does a model write, word by word?",
            lead="A decoder writes one token at a time: it gives every word of its vocabulary a logit, one word is chosen, and the "
            "decoder reads this word in the next step. Everything on this page is a real run of the chosen weights.",
            card="how each next word is chosen", section_view="write_section",
            sections=(
                Section("choose", "Choose", "write_choice"), Section("branch", "Branch", "lab_picture"),
                Section("forcing", "Teacher forcing", "write_losses"),
                Section("cache", "KV cache", "lab_picture"),
            ),
        ),
        PageSpec(
            name="cause", title="Cause and effect", icon=":material/science:",
            question="Which part of the model makes the difference?",
            lead="Two sentences that differ in a word make the model answer differently. Here values of one run are put into the "
                 "other, one at a time, and the answer is read again: a value that changes the answer is one of its causes. "
                 "Attention weights say where a head reads; only such a change shows what it does.",
            card="what carries a difference from a word to the answer", section_view="cause_section", compares=True,
            sections=(
                Section("patching", "Patching", "cause_maps"), Section("lens", "Logit lens", "cause_lens"),
                Section("attribution", "Attribution", "cause_shares"), Section("heads", "Attention and effect", "cause_heads"),
            ),
        ),
        PageSpec(
            name="training", title="Training", icon=":material/model_training:",
            question="How does a model learn?",
            lead="A model begins with random weights. Each step of training reads some rows of a task, measures how wrong the "
            "answers are, and changes every weight a little in the direction that makes them less wrong. Everything on this page "
            "is a real run on this server, from the first step to the last.",
            card="a model learns while you watch", section_view="train_section",
            sections=(Section("run", "One run", "lab_picture"), Section("experiments", "Experiments", "train_bands")),
        ),
        PageSpec(
            name="masks", title="Masks", icon=":material/grid_on:",
            question="Which tokens may attend to which, and what happens when a mask is wrong?",
            lead="Without a mask, every query attends to every key. A mask blocks keys that a query should not use: padding, which "
            "carries no information, and future tokens, which the model has yet to predict.",
            card="which tokens may attend to which", group="The parts", section_view="mask_section", compares=True,
            sections=(
                Section("who", "Reasons", "mask_map"), Section("built", "Construction", "mask_built"),
                Section("conventions", "Conventions", "mask_written"), Section("effect", "Effect", "mask_effect"),
                Section("leak", "Leak test", "mask_leak"), Section("empty", "Fully masked rows", "mask_spread"),
                Section("unsqueeze", "A mask bug", "mask_unsqueeze"),
            ),
        ),
        PageSpec(
            name="positions", title="Positions", icon=":material/waves:",
            question="How does a Transformer know the order of the words?",
            lead="Without positions and without a causal mask, attention treats a sentence as a set of words: it cannot tell "
            "我爱你 from 你爱我. So each position gets its own encoding. The first Transformer used waves, from fast ones to very "
            "slow ones.",
            card="how the model learns about word order", group="The parts", section_view="pos_section", compares=True,
            sections=(
                Section("waves", "Waves", "pos_waves"), Section("matrix", "Matrix", "pos_table"),
                Section("clock", "Clock", "pos_clock"), Section("similarity", "Similarity", "pos_similarity"),
                Section("sentence", "Your sentence", "pos_parts"), Section("schemes", "All schemes", "pos_schemes"),
                Section("experiments", "Experiments", "pos_experiment"),
            ),
        ),
        PageSpec(
            name="norms", title="Pre- and Post-LN", icon=":material/balance:",
            question="Why did Pre-LN replace Post-LN?",
            lead="The first Transformers normalise each residual sum (Post-LN) and need a careful warm-up to train. Later ones "
            "normalise the input of each sub-layer and leave the sum alone (Pre-LN). The comparisons below use the same weights "
            "and the same sentence; only the place of the LayerNorm differs.",
            card="where the LayerNorm stands, and why that matters", group="The parts", section_view="norm_section",
            sections=(
                Section("depth", "Depth", "norm_depth_chart"), Section("theory", "Theory", "norm_theory"),
                Section("gradients", "Gradients", "norm_gradients"), Section("token", "One token", "norm_steps"),
                Section("batchnorm", "LayerNorm and BatchNorm", "norm_cells"),
                Section("distributions", "Distributions", "norm_ridges"),
            ),
        ),
        PageSpec(
            name="shapes", title="Shapes", icon=":material/straighten:",
            question="What shape is every tensor, and what does it cost?",
            lead="This table lists every tensor of the run in the order of computation. Look for the head axis (H), which exists "
            "only inside attention, and for the T × S matrices of queries by keys. Click a name to open the tensor in Step by "
            "step.",
            card="the size and cost of every tensor", group="Reference", picture="shapes_table", compares=True,
        ),
        PageSpec(
            name="documents", title="Documents", icon=":material/menu_book:",
            question="Five documents, one model: where do they agree?",
            lead="Five texts explain the Transformer, each with its own code. In this app each is a preset of one model.",
            card="five texts side by side", group="Reference", picture="documents_table",
        ),
    )
}
