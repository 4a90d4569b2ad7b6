"""One independent reference model per document, and the proof that the project's Transformer agrees with each."""
