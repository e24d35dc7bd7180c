"""Where to start in a log too long to read whole."""
