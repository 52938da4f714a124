"""The operator's own look at backends: whether they can be reached, what they are, how many tools they have."""
