"""The command line."""


def main() -> None:
    """Run spectop."""
    raise NotImplementedError
