"""Bodies that touch: where, and the impulses between them."""
