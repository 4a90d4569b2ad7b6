"""The Transformer: masks, positional encodings, attention, layers, the model. Every intermediate tensor is passed to a tap."""
