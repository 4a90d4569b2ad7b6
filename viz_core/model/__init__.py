"""The Transformer as the textbook has it: masks, positions, attention, layers, transformer. Every stage is tapped."""
