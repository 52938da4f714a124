"""Objects from files, and everything that is wrong with the files at once, each with its place."""
