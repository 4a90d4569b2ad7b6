"""The cache of the server, bounded in bytes and shared by all visitors, and slow imports done once."""
