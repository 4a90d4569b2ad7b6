"""The page Cause and effect: activation patching, logit lens, logit attribution, and attention beside measured effects."""
