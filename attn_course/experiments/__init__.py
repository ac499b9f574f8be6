"""What 06, 07, 11 and 12 measure or train in a few seconds."""
