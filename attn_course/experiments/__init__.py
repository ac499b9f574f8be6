"""What 06, 07 and 11-14 measure or train in a few seconds."""
