"""Where users already work: kernels and simulations in JAX, PyTorch, CasADi, Gymnasium and Ray."""
