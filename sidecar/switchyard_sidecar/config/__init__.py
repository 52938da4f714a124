"""The config directory: its format, how it is read, and how a change is noticed."""
