"""How fast, how large, how steady: the figures of ``docs/performance.md``, for anyone to repeat with ``make bench``.

Servers run on one core and what loads them on another. Whatever is compared takes turns in one run, so that the machine's
moods cancel out; CPU time for each request is given beside every rate, for noise touches it least. Nothing is timed
before its answer was found right, and again after.
"""
