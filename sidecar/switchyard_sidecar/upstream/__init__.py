"""One backend at a time: era, pages, change stream, session, calls. Produces snapshots."""
