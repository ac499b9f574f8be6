"""What touches the sandbox: how a process is shut in."""
