"""The three kinds as typed models, and the words they are written in."""
