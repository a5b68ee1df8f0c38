"""What to embed, and in which coordinates."""
