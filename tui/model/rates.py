"""The rate model: what a round costs, what it commits, where it breaks even."""
