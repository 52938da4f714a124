"""What is said of our objects: statuses, and events for what a person should notice. All but :mod:`.writer` is pure."""
