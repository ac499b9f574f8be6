"""How a submission and its judge run in a sandbox, and how they talk."""
