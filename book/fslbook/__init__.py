"""The code of the book's chapters."""
