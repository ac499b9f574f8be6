"""The student's folder: `attn init`, `lab`, `status`, `check`, `update` and `reset`."""
