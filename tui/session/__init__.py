"""What is known so far, and the frozen snapshot that everything shown is made from."""
