"""What the five documents explain, and where each of it can be seen: a page, the state to open it in, what to look at.

`CONCEPTS` has a row for every concept and example of the documents, `FAULTS` one for everything in which a printed code
or a claim does not hold. A state is the link of a page: query parameters, beside the document's own preset.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

Verdict = Literal["cannot run", "does something else", "text is mistaken"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where something can be seen: a page by its file's name, and what to look for there.

    `state` are the link's parameters; `problem` is a part of the sentence with which the app refuses to run that state.
    """

    page: str
    look: str
    state: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Concept:
    """One concept or example of a document."""

    document: str
    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Fault:
    """Something printed that does not hold: what, in which way, what this app does instead, and where that shows."""

    document: str
    printed: str
    verdict: Verdict
    instead: str
    place: Place | None = None


def _at(page: str, look: str, problem: str = "", **state: str) -> Place:
    return Place(page, look, MappingProxyType(state), problem)


# Sentences of different lengths, so that there is padding; and the examples that the documents themselves have.
PADDED = {"source": "I love you\nyou love the cat too", "target": "我爱你\n你也爱猫"}
MAT = {"source": "The cat sat on the mat", "target": "猫 坐在 垫子 上"}
ANIMAL = {"source": "The animal didn't cross the street because it was too tired.", "target": "动物 没有 过 街道 因为 它 太 累 。"}
CLASS_000 = {"d_model": "256", "n_heads": "8", "qk_dim": "64", "d_ff": "512", "n_encoder_layers": "3", "n_decoder_layers": "3", "max_len": "100"}

CONCEPTS: tuple[Concept, ...] = (
    # ---- 000: encoder and decoder, qk_dim
    Concept("000", "The position table line by line: pos, the frequencies, sines in even columns, cosines in odd ones",
            _at("positions", "A row is a position, a column a frequency. Click a cell: its position, its exponent, sine or cosine, written out with numbers.",
                pos_section="matrix", pos_length="20", pos_width="32")),
    Concept("000", "A buffer (fixed, saved with the model) against a parameter (trained)",
            _at("shapes", "Made by no parameter: the waves are a buffer. Set Positions to learned and the same rows count max_len × d_model each.",
                shapes_filter="pos_embed", shapes_columns="parameters")),
    Concept("000", "Why order matters: 我爱你 / 你爱我",
            _at("positions", "我 and 你 change places. Without positions the outputs merely change places as well. ALiBi knows distances only, so a mirror image is the same to it.",
                pos_section="experiments", pos_experiment="swap", pos_sentence="我爱你")),
    Concept("000", "qk_dim may be smaller than d_model; values keep the full width",
            _at("shapes", "The class defaults: q and k are 64 / 8 = 8 wide in each head, v is 256 / 8 = 32 wide, and the output is d_model again.",
                shapes_filter="encoder.layers.0.self_attn", **CLASS_000)),
    Concept("000", "Splitting into heads and merging them: (N, T, D) → (N, heads, T, D / heads) → (N, T, D)",
            _at("step_by_step", "Left, z of one head: [B, H, T, V]. Right, the heads side by side again: [B, T, D], each head its own columns.",
                stage="encoder.layers.0.self_attn.concat")),
    Concept("000", "vocab_size against max_length: how many words the dictionary has, how many a sentence may have",
            _at("home", "Each id is below 100, the vocabulary, wherever it stands; there are at most 10 places, max_len. Both are under All switches, Sizes.",
                source_vocab_size="100", max_len="10")),
    Concept("000", "A token id outside the vocabulary is an error",
            _at("home", "Ids are typed. 1000 is one more than the last of 1000 words: one sentence says so, and what to do.",
                "source id 1000 is outside the vocabulary; source_vocab_size=1000 has 0 to 999",
                tokenizer="ids", source="2 45 1000", target="5 9 100")),
    Concept("000", "120 tokens do not fit max_length 100",
            _at("home", "The position table ends at row 100. Delete some words, or set Positions to rope, and it runs.",
                "max_len=100 is too short for 120 tokens", max_len="100", source=" ".join(["word"] * 120))),
    Concept("000", "Embedding lookup: ids [[2, 45, 78], [5, 9, 100]] become vectors (2, 3, 256)",
            _at("step_by_step", "Two sentences of three ids, a row of 256 numbers for each: the shape reads B = 2, T = 3, D = 256.",
                stage="encoder.tok_embed", tokenizer="ids", source="2 45 78\n5 9 100", target="2 45 78\n5 9 100",
                source_vocab_size="10000", d_model="256")),
    Concept("000", "tgt_mask for four tokens: a lower triangle of ones",
            _at("step_by_step", "Row t may look at columns 0 to t. The decoder reads 4 tokens: <bos> and three words.",
                stage="masks.causal", target="我爱你")),
    Concept("000", "src_mask for five tokens of which the last two are padding: 1 1 1 0 0",
            _at("step_by_step", "The first sentence has three words and is padded to the five of the second: its last two cells are off.",
                stage="masks.source_padding", **PADDED)),
    Concept("000", "What the encoder reads and what the decoder reads: both ids, but the target is shifted",
            _at("home", "The source is read whole. The decoder's input starts with <bos> and lacks the last answer: it may only use what came before.",
                source="The cat sits .", target="Le chat est assis")),
    Concept("000", "Sentences as ids: [101, 205, 330, 102] and [101, 400, 500, 102]",
            _at("step_by_step", "The numbers that were typed, no tokenizer between. The decoder's input is the second list moved right behind <bos>.",
                stage="ids.target", tokenizer="ids", source="101 205 330 102", target="101 400 500 102")),
    # ---- 001: Pre-LN, sequence-first
    Concept("001", "Positions shaped (S, 1, D) are broadcast over the batch",
            _at("shapes", "The last column has the axes in the order of this text: the words T B D = 5 × 2 × 512, the positions T 1 D, added to both sentences.",
                shapes_filter="encoder.", shapes_block="Encoder embedding", shapes_columns="sequence-first", **PADDED)),
    Concept("001", "Its plot: d_model 20, 100 positions, dimensions 4 to 7",
            _at("positions", "The page opens on it: four waves, two wavelengths.")),
    Concept("001", "Fixed positions against learned ones",
            _at("positions", "One head under each scheme, weights held fixed. Below, the learned table: untrained it is noise, no row knows its neighbour.",
                pos_section="schemes", pos_scheme="learned")),
    Concept("001", "× √d_model “balances” tokens and positions: with rows drawn from N(0, 1)",
            _at("positions", "It does not: a scaled row is about √512 · √512 = 512 long, a position 16. Positions drown.",
                pos_section="sentence", init="torch")),
    Concept("001", "× √d_model “balances” tokens and positions: with Xavier rows and 10,000 words",
            _at("positions", "Here it nearly does: a scaled row is about 7 long, a position 16. This is the text's own initialisation.",
                pos_section="sentence")),
    Concept("001", "is_save_ff_input: keep what enters the feed-forward network, to look at it",
            _at("step_by_step", "In Pre-LN that is this norm's output. Every stage is kept here, not only this one.",
                stage="encoder.layers.0.norm_ffn.out")),
    Concept("001", "Three parts: an encoder, a decoder, a generator that turns vectors into words",
            _at("home", "The drawing: two stacks and the output box. Click a box to open its numbers.")),
    # ---- 002: LayerNorm by hand, padded queries masked
    Concept("002", "masked_fill: overwrite the forbidden scores",
            _at("step_by_step", "The scores and the mask go in; where the mask is off, −∞ comes out.",
                stage="decoder.layers.0.self_attn.masked_scores")),
    Concept("002", "ne: a token that is not equal to the pad id is a word",
            _at("step_by_step", "The ids and the mask side by side: off exactly where the id is 1, the pad id of this document.",
                stage="masks.source_padding", **PADDED)),
    Concept("002", "tril: the lower triangle, so that no token sees a later one",
            _at("step_by_step", "On and below the diagonal it is on.", stage="masks.causal", **PADDED)),
    Concept("002", "The product of two masks is AND",
            _at("step_by_step", "Inputs: padding and causal. A cell of the result is on where it is on in both.", stage="masks.target", **PADDED)),
    Concept("002", "A one-hot row times the table is a lookup: [2, 5, 1]",
            _at("step_by_step", "Three ids, three rows of the table, nothing computed. Id 1 is padding here and its row is all zeros.",
                stage="encoder.tok_embed", tokenizer="ids", source="2 5 1", target="2 5 1")),
    Concept("002", "High frequencies for neighbours, low ones for distance",
            _at("positions", "Wavelength over dimension, from 2π positions to tens of thousands. Those below the line turn more than once within your sentence.",
                pos_section="matrix", pos_width="512", **ANIMAL)),
    Concept("002", "LayerNorm against BatchNorm: the mean over one token's features (C), or over the batch (N)",
            _at("norms", "Side by side: the cells that share a mean with the picked one. Below, what each norm gives, and what padding does to BatchNorm.",
                norm_section="batchnorm", **PADDED)),
    Concept("002", "Which norm where: images, Transformers, small batches, style transfer (InstanceNorm)",
            _at("norms", "Each norm as a set of cells of one tensor, with what the document recommends it for beside it.",
                norm_section="batchnorm", norm_token="0", **PADDED)),
    Concept("002", "γ and β scale and shift what was normalised",
            _at("step_by_step", "Left the normalised values, right γ · x̂ + β. Untrained, γ is 1 and β is 0: nothing changes yet.",
                stage="encoder.layers.0.norm_self_attn.out")),
    Concept("002", "The feed-forward network: d_model → hidden → d_model",
            _at("step_by_step", "512 features become 2048 hidden units, one step on ReLU zeroes the negative ones, and then they are 512 again.",
                stage="encoder.layers.0.ffn.pre_act")),
    Concept("002", "Residual connections: each sub-layer adds to the stream",
            _at("step_by_step", "Two inputs and their sum. Switch Residual connections off (All switches, Layers) and the sum is gone.",
                stage="encoder.layers.0.resid_mid")),
    # ---- 003: SimpleGPT
    Concept("003", "The whole pipe from ids to logits, with its shapes",
            _at("shapes", "From ids B T to logits B T W: every tensor with its axes and its shape, top to bottom.", shapes_columns="symbolic shape")),
    Concept("003", "The loss: cross-entropy against the next token's id",
            _at("step_by_step", "The logits and the answers go in, one number comes out. Near ln 1000 = 6.9 a model knows nothing.", stage="loss")),
    Concept("003", "padding_idx: one row of the table stays zero",
            _at("step_by_step", "The first sentence is padded: the rows of <pad> are all zeros.",
                stage="encoder.tok_embed", source="the cat\nthe cat sat on the mat")),
    Concept("003", "p.numel(): counting the parameters",
            _at("shapes", "Which parameters made each tensor, and how many numbers they hold; below, their sum by block. The total is the one of numel.",
                shapes_columns="parameters")),
    Concept("003", "Without a causal mask the encoder sees the answer",
            _at("step_by_step", "Cells right of the diagonal hold weight: token t looks at t + 1, which it should predict. Turn on Causal mask and they are hatched.",
                stage="encoder.layers.0.self_attn.weights")),
    Concept("003", "The table of torch's names: Embedding, LayerNorm, relu, sqrt, numel",
            _at("shapes", "Beside every tensor: what the documents, torch, Hugging Face and TransformerLens call it.",
                shapes_columns="documents,torch,Hugging Face,TransformerLens")),
    # ---- 004: the book chapter
    Concept("004", "An RNN walks step by step; attention joins any two tokens in one step, O(1)",
            _at("shapes", "The table at the foot of the page: steps one after another and the longest path, of attention and of a recurrent layer.")),
    Concept("004", "Attention costs O(N² · d)",
            _at("shapes", "FLOPs against tokens, near the foot of the page: past the circle the N² · d line is above all the rest.")),
    Concept("004", "Alignment: “The cat sat on the mat” / 猫 坐在 垫子 上",
            _at("attention", "Trained weights. Each row writes the next word: <bos> finds cat and writes 猫, 猫 finds sat and writes 坐在, 坐在 finds mat.",
                weights="translator", att_kind="cross", att_layer="1", att_show="cross", att_query="0", **MAT)),
    Concept("004", "Query, key and value as a library: what you seek, the spine of a book, its content",
            _at("attention", "One number, below: q · k says how well the book fits, the weight how much of it you read, weight × value what you take home.",
                weights="translator", att_kind="cross", att_layer="1", att_query="0")),
    Concept("004", "Scaled dot-product attention in five steps",
            _at("step_by_step", "Press → four times: product, ÷ √d_k, mask, softmax, mixture of values.",
                stage="encoder.layers.0.self_attn.raw_scores", **MAT)),
    Concept("004", "Four heads look at “it” in “The animal didn't cross the street because it was too tired.”",
            _at("attention", "Four tiles a layer are four heads; the lines of it are locked. The text imagines what each one does, here you read it.",
                weights="translator", att_kind="encoder", att_show="encoder", att_layer="1", att_query="7", att_lock="query", source=ANIMAL["source"],
                target="动物 没有 穿过 街道 因为 动物 太 累 。")),
    Concept("004", "Cross-attention with 10 queries and 12 keys",
            _at("step_by_step", "The matrix is 10 high and 12 wide: the decoder asks, the encoder's tokens answer.",
                stage="decoder.layers.0.cross_attn.weights", **ANIMAL)),
    Concept("004", "Positions by fixed waves",
            _at("positions", "Below the five schemes: the rows that are added to your tokens, the same in every sentence.",
                pos_section="schemes")),
    Concept("004", "Positions as a learned table",
            _at("positions", "Trained here: below the five schemes, rows near each other have become alike. Untrained they would be noise.",
                weights="translator-learned", pos_section="schemes", pos_scheme="learned")),
    Concept("004", "Rotary positions (RoPE): turn queries and keys",
            _at("positions", "Below the five schemes: move both words, their hands turn together, and their score stays.",
                pos_section="schemes", pos_scheme="rope")),
    Concept("004", "An encoder layer step by step",
            _at("step_by_step", "Press → from here: self-attention, sum, norm, feed-forward, sum, norm.", stage="encoder.layers.0.resid_pre")),
    Concept("004", "A decoder layer step by step",
            _at("step_by_step", "Press → from here: the same with a causal mask, and cross-attention between the two.", stage="decoder.layers.0.resid_pre")),
    Concept("004", "The padding mask",
            _at("step_by_step", "Off where the token is <pad>. The text writes True for blocked; here True = may attend.",
                stage="masks.source_padding", **PADDED)),
    Concept("004", "The look-ahead mask",
            _at("step_by_step", "No token may look at a later one: off above the diagonal.", stage="masks.causal", **PADDED)),
    Concept("004", "Encoder-only models (BERT): trained to fill in masked words",
            _at("home", "One stack without a causal mask: every token sees both sides. Its training task is not shown, only its shape.",
                architecture="encoder-only")),
    Concept("004", "Decoder-only models (GPT): trained to say the next word",
            _at("home", "One stack with a causal mask and no cross-attention. The bars are its guess at the next word.",
                architecture="decoder-only")),
    Concept("004", "Encoder-decoder models (T5, BART): trained to restore damaged text",
            _at("home", "Two stacks, joined by cross-attention: the encoder reads all, the decoder writes from left to right.")),
    Concept("004", "Strengths and limits: parallel and far-sighted, but quadratic",
            _at("shapes", "Bytes against tokens, near the foot of the page: all pairs at once, in few steps, but N × N numbers a head.")),
)

FAULTS: tuple[Fault, ...] = (
    Fault("001", "The position buffer is “saved with the model”, but is registered with persistent=False.", "text is mistaken",
          "Such a state_dict is empty. The table follows from its size, so nothing is lost."),
    Fault("001", "“Dimension 7 changes slower than dimension 6.”", "text is mistaken", "They are the cosine and the sine of one wave.",
          _at("positions", "One wavelength for both, a quarter of it apart.", pos_dims="6,7")),
    Fault("001", "Attention is called permutation-invariant.", "text is mistaken",
          "It is equivariant: reorder the tokens and the outputs are reordered with them, not unchanged.",
          _at("positions", "Without positions and mask the shuffled sentence gives the shuffled outputs, to rounding.",
              pos_section="experiments", pos_experiment="shuffle")),
    Fault("002", "The forward of the embeddings, LayerNorm, FFN, decoder layer, encoder and decoder is nested in the constructor.", "cannot run",
          "Here each is a method of its class."),
    Fault("002", "The FFN's constructor does not call super().__init__().", "cannot run", "Here it does."),
    Fault("002", "torch.zeros(maxlen, d_model, device) passes the device as a size.", "cannot run", "The usual table of sines and cosines.",
          _at("step_by_step", "The table that the text describes.", stage="encoder.pos_embed")),
    Fault("002", "torch.functional is imported as F, and it has no relu.", "cannot run", "ReLU, as meant.",
          _at("step_by_step", "Hidden units before and after: what was negative is 0.", stage="encoder.layers.0.ffn.post_act")),
    Fault("002", "The layers call MultiHeadAttention with a mask; the class is named multi_head_attention and takes none.", "cannot run",
          "One attention, which takes the mask that it is given.",
          _at("step_by_step", "Scores and mask go in.", stage="encoder.layers.0.self_attn.masked_scores", **PADDED)),
    Fault("002", "self.norm1(x+_x) is computed and dropped, and so is self.drop2(x).", "does something else",
          "Sum and norm are kept, as the text says.",
          _at("step_by_step", "The norm of the sum, which flows on to the feed-forward network.", stage="encoder.layers.0.norm_self_attn.out")),
    Fault("002", "The result of cross-attention is put into the variable of the residual: dropout2 falls on the stream.", "does something else",
          "Dropout, where it acts, falls on what the sub-layer adds; here it is always off.",
          _at("step_by_step", "The stream plus what cross-attention found.", stage="decoder.layers.0.resid_cross")),
    Fault("002", "The decoder is built from encoder layers, then called with four arguments.", "cannot run", "Decoder layers, with cross-attention.",
          _at("step_by_step", "What an encoder layer would lack.", stage="decoder.layers.0.cross_attn.weights")),
    Fault("002", "TransformerEmbedding is given d_model, max_len and vocabulary where it expects vocabulary, d_model and max_len: the widths do not fit.", "cannot run",
          "Here each size is in its place."),
    Fault("002", "The causal mask is called “upper triangular, zeros above”.", "text is mistaken", "The lower triangle is kept, as the code has it.",
          _at("step_by_step", "On and below the diagonal it is on.", stage="masks.causal")),
    Fault("002", "Padded queries are filled with −∞ throughout: 0 / 0 in the softmax.", "does something else",
          "Such a row is zeros. The printed way is a switch: A query that sees nothing → as filled.",
          _at("step_by_step", "Switched to as filled. The padded rows are NaN in layer 0; by the end of layer 1 the whole first sentence is.",
              stage="encoder.layers.1.resid_post", empty_row="as filled", **PADDED)),
    Fault("002", "“Residuals make training 2 to 3 times faster.”", "text is mistaken", "No source, no measurement: nothing here repeats it."),
    Fault("003", "Post-LN code, norm1(x + …), is labelled Pre-LN.", "text is mistaken", "Post-LN, as the code has it.",
          _at("step_by_step", "The norm comes after the sum: that is Post-LN.", stage="encoder.layers.0.norm_self_attn.out")),
    Fault("004", "A (T, T) look-ahead mask is given unsqueeze(1) in attention: (T, 1, T) does not fit (B, 8, T, T).", "cannot run",
          "The mask is (1, 1, T, T).",
          _at("step_by_step", "Its shape, and its one triangle for all heads.", stage="masks.causal")),
    Fault("004", "The same where T equals the number of heads: it runs, and the last head sees all the future.", "does something else",
          "No head does.",
          _at("masks", "Eight tokens, eight heads: the weights of each head beside those that were meant, and its share on later tokens. The last head sees them all.",
              mask_section="unsqueeze", source="I like to read in the park", target="我 喜欢 在 公园 里 看 书")),
    Fault("004", "torch's layers are said to want float masks only.", "text is mistaken", "Boolean masks are accepted too.",
          _at("masks", "One mask in three conventions with the lines that convert it; torch's own layers were given it as bool and as float, and differ by nothing.",
              mask_section="conventions", **PADDED)),
    Fault("004", "nn.TransformerEncoder clones one layer, so all layers start identical.", "does something else", "Each layer draws its own weights."),
)


def places() -> Iterator[tuple[str, Place]]:
    """Every place with its document."""
    yield from ((concept.document, concept.place) for concept in CONCEPTS)
    yield from ((fault.document, fault.place) for fault in FAULTS if fault.place)
