"""The Writing page: how a model generates text token by token, teacher forcing, and the key-value cache."""
