"""Changes that a backend keeps to itself: found by reading its list, though its change stream was open and said nothing. Pure.

A change counts as announced if anything was heard since the read before began. It cannot be held against a backend if no stream,
or more than one, was open in that time; nor if it had just announced a change that was not there yet: some servers notify first
and change then.
"""


class Vigil:
    """Follows the reads of one backend, one at a time."""

    def __init__(self) -> None:
        self._before: tuple[int | None, int] = None, 0
        self._now: tuple[int | None, int] = None, 0
        self._excused = False

    def began(self, stream: int | None, heard: int) -> None:
        """A read begins. ``stream``: the number of the change stream that is open; ``heard``: announcements so far."""
        self._now = stream, heard

    def brought(self, heard: int, *, changed: bool) -> bool:
        """The read succeeded; whether it brought a change that was not announced so far."""
        (stream_before, heard_before), (stream, _) = self._before, self._now
        watched, quiet = stream is not None and stream == stream_before, heard == heard_before
        unannounced = changed and watched and quiet and not self._excused
        self._excused = not changed and not quiet
        self._before = self._now
        return unannounced
