"""The smallest code with the same error as a document's, and what it prints.

Each runs by itself in an empty module. The last line of `printed` is the error if the code raises one.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorExample:
    """A few lines of code, and what they print."""

    code: str
    printed: str


NOT_PERSISTENT = ErrorExample("""\
import torch
from torch import nn

class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.zeros(4, 2), persistent=False)

module = Positions()
print("buffers:", [name for name, _ in module.named_buffers()])
print("saved:", list(module.state_dict()))
""", """\
buffers: ['table']
saved: []
""")

ONE_WAVE = ErrorExample("""\
import torch

d_model = 20
exponents = torch.arange(0, d_model, 2) / d_model  # one for two dimensions
wavelengths = 2 * torch.pi * 10000**exponents
for dim in (4, 5, 6, 7):
    print(f"dimension {dim}: {wavelengths[dim // 2]:.1f} positions")
""", """\
dimension 4: 39.6 positions
dimension 5: 39.6 positions
dimension 6: 99.6 positions
dimension 7: 99.6 positions
""")

EQUIVARIANT = ErrorExample("""\
import torch

def attention(x):
    return torch.softmax(x @ x.T, dim=-1) @ x

torch.manual_seed(0)
x, order = torch.randn(3, 4), [1, 0, 2]  # two of three tokens swap
before, after = attention(x), attention(x[order])
print("unchanged:", torch.allclose(after, before))
print("reordered with them:", torch.allclose(after, before[order]))
""", """\
unchanged: False
reordered with them: True
""")

NESTED_FORWARD = ErrorExample("""\
import torch
from torch import nn

class Double(nn.Module):
    def __init__(self):
        super().__init__()

        def forward(self, x):  # a local function, not a method
            return 2 * x

Double()(torch.ones(1))
""", """\
NotImplementedError: Module [Double] is missing the required "forward" function
""")

NO_SUPER = ErrorExample("""\
from torch import nn

class FeedForward(nn.Module):
    def __init__(self):
        self.linear = nn.Linear(4, 8)  # before super().__init__()

FeedForward()
""", """\
AttributeError: cannot assign module before Module.__init__() call
""")

DEVICE_AS_SIZE = ErrorExample("""\
import torch

print(torch.zeros(2, 3, device="cpu").shape)  # meant
torch.zeros(2, 3, "cpu")  # printed
""", """\
torch.Size([2, 3])
TypeError: zeros(): argument 'size' failed to unpack the object at pos 3 with error "type must be tuple of ints,but got str"
""")

NO_RELU = ErrorExample("""\
import torch
import torch.functional as F

F.relu(torch.tensor([-1.0, 2.0]))
""", """\
AttributeError: module 'torch.functional' has no attribute 'relu'
""")

NO_MASK_ARGUMENT = ErrorExample("""\
import torch
from torch import nn

class multi_head_attention(nn.Module):
    def forward(self, q, k, v):
        return v

x, mask = torch.ones(2, 4), torch.ones(2, 2)
try:
    MultiHeadAttention()
except NameError as error:
    print(error)
multi_head_attention()(x, x, x, mask)
""", """\
name 'MultiHeadAttention' is not defined
TypeError: multi_head_attention.forward() takes 4 positional arguments but 5 were given
""")

DROPPED_RESULT = ErrorExample("""\
import torch
from torch import nn

norm = nn.LayerNorm(2)
stream, attended = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0])
x = attended
norm(x + stream)  # nothing holds the result
print(x.tolist())
x = norm(x + stream)
print([round(number, 3) for number in x.tolist()])
""", """\
[0.0, 4.0]
[-1.0, 1.0]
""")

RESIDUAL_OVERWRITTEN = ErrorExample("""\
import torch
from torch import nn

dropout = nn.Dropout(p=1.0)  # sets all to 0, to show what it is applied to
stream, attended = torch.tensor([1.0]), torch.tensor([5.0])
residual = attended  # the printed assignment
print("printed:", (dropout(stream) + residual).item())
print("meant:", (stream + dropout(attended)).item())
""", """\
printed: 5.0
meant: 1.0
""")

ENCODER_LAYERS = ErrorExample("""\
import torch
from torch import nn

class EncoderLayer(nn.Module):
    def forward(self, x, mask=None):
        return x

target, source = torch.ones(3, 4), torch.ones(5, 4)
for layer in [EncoderLayer() for _ in range(2)]:  # in the decoder
    target = layer(target, source, None, None)
""", """\
TypeError: EncoderLayer.forward() takes from 2 to 3 positional arguments but 5 were given
""")

ARGUMENT_ORDER = ErrorExample("""\
import torch
from torch import nn

def embedding(n_words, d_model, max_len):
    return nn.Embedding(n_words, d_model)

n_words, d_model, max_len = 1000, 64, 10
x = embedding(d_model, max_len, n_words)(torch.tensor([3]))
print(x.shape)  # max_len wide, not d_model
nn.Linear(d_model, d_model)(x)
""", """\
torch.Size([1, 10])
RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x10 and 64x64)
""")

LOWER_TRIANGLE = ErrorExample("""\
import torch

mask = torch.tril(torch.ones(3, 3, dtype=torch.int))
print(mask)
print("lower triangle:", mask.equal(mask.tril()))
print("upper triangle:", mask.equal(mask.triu()))
""", """\
tensor([[1, 0, 0],
        [1, 1, 0],
        [1, 1, 1]], dtype=torch.int32)
lower triangle: True
upper triangle: False
""")

PADDED_QUERIES = ErrorExample("""\
import torch

is_word = torch.tensor([True, False])  # the second token is padding
allowed = is_word[:, None] & is_word  # (query, key)
scores = torch.zeros(2, 2).masked_fill(~allowed, float("-inf"))
weights = scores.softmax(-1)
x = torch.ones(2, 1)
for layer in (0, 1):
    x = weights @ x
    print(f"layer {layer}:", x.flatten().tolist())
""", """\
layer 0: [1.0, nan]
layer 1: [nan, nan]
""")

POST_LN = ErrorExample("""\
import torch
from torch import nn

norm, x = nn.LayerNorm(2), torch.tensor([1.0, 5.0])
post = norm(x + torch.relu(x))  # printed: the sum is normalised
pre = x + torch.relu(norm(x))  # Pre-LN: what enters the sub-layer is
print("Post-LN:", [round(number, 2) for number in post.tolist()])
print("Pre-LN: ", [round(number, 2) for number in pre.tolist()])
""", """\
Post-LN: [-1.0, 1.0]
Pre-LN:  [1.0, 6.0]
""")

MASK_WITHOUT_BATCH = ErrorExample("""\
import torch

B, heads, T = 2, 8, 5
scores = torch.zeros(B, heads, T, T)
later = torch.ones(T, T, dtype=torch.bool).triu(1)
print(later[None, None].shape, later.unsqueeze(1).shape)  # meant, printed
scores.masked_fill(later.unsqueeze(1), float("-inf"))
""", """\
torch.Size([1, 1, 5, 5]) torch.Size([5, 1, 5])
RuntimeError: The size of tensor a (5) must match the size of tensor b (8) at non-singleton dimension 1
""")

MASK_PER_HEAD = ErrorExample("""\
import torch

T = heads = 3
scores = torch.zeros(1, heads, T, T)
later = torch.ones(T, T, dtype=torch.bool).triu(1)
weights = scores.masked_fill(later.unsqueeze(1), float("-inf")).softmax(-1)
for head in range(heads):  # where the first token attends
    row = weights[0, head, 0]
    print(f"head {head}:", [round(weight, 2) for weight in row.tolist()])
""", """\
head 0: [1.0, 0.0, 0.0]
head 1: [0.5, 0.5, 0.0]
head 2: [0.33, 0.33, 0.33]
""")

BOOL_MASK = ErrorExample("""\
import torch
from torch import nn

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(8, 2, batch_first=True).eval()
x = torch.randn(1, 3, 8)
later = torch.ones(3, 3, dtype=torch.bool).triu(1)
as_floats = torch.zeros(3, 3).masked_fill(later, float("-inf"))
print(torch.allclose(layer(x, src_mask=later), layer(x, src_mask=as_floats)))
""", """\
True
""")

CLONED_LAYERS = ErrorExample("""\
from torch import nn

layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
first, *others = nn.TransformerEncoder(layer, num_layers=3).layers
for other in others:
    print(first.linear1.weight.equal(other.linear1.weight))
""", """\
True
True
""")
