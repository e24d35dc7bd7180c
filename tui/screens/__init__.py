"""What fills the terminal at one time."""
