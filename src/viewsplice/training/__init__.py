"""One alternating training loop for everything that is trained."""
