"""How fast Shoal is: the papers' workloads beside a plain PyTorch loop, and the mathematics of the server."""
