"""What is wrong with PTX modules."""
