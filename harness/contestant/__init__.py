"""The two halves of the way of a question."""
