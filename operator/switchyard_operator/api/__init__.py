"""The three kinds as typed models."""
