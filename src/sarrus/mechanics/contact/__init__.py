"""Where shapes touch: the narrow phase as text for floats and symbols, and which pairs cannot meet at all."""
