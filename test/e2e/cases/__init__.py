"""Small graphs for test/e2e/ops.py, one family of operators a file."""
