"""From a snapshot to text: pure functions."""
