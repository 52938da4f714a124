"""One backend at a time: era, pages, change stream, session, calls. Produces snapshots.

:mod:`session` is the long life of one backend; it uses :mod:`connect` to find out how the backend wants to be spoken to,
:mod:`fetch` to read its list, :mod:`refresh` to know when, and :mod:`calls` to relay calls. :mod:`modern` and
:mod:`legacy` are the two eras, :mod:`streamable` and :mod:`sse_transport` the legacy era's two transports, and
:mod:`http` is the only file that opens a connection.
"""
