"""The gateway itself: it runs backends, makes catalogs of what they list, and keeps apart what belongs to one caller.

:mod:`backends` runs sessions with backends, :mod:`lane` makes the catalog that its callers share, :mod:`outlooks` shows
them what the rules let each of them see of it, :mod:`lanes` keeps the lanes
of callers whose own tokens go to backends, and :mod:`gateway` puts them together.
"""

from switchyard_sidecar.gateway.gateway import Gateway
from switchyard_sidecar.gateway.lane import Lane
from switchyard_sidecar.gateway.outlooks import Outlook, Seen

__all__ = ["Gateway", "Lane", "Outlook", "Seen"]
