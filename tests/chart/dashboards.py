"""What the dashboards ask Prometheus for."""

import json
import re

from chart.helm import CHART


def metrics(dashboard: str) -> set[str]:
    """The metrics that a dashboard's panels read: families, as ``/metrics`` names them."""
    panels = json.loads((CHART / "files" / "dashboards" / f"{dashboard}.json").read_text())["panels"]
    asked = " ".join(target["expr"] for panel in panels for target in panel["targets"])
    return {each.removesuffix("_bucket") for each in re.findall(r"\bswitchyard_\w+", asked)}


def exposed(page: str) -> set[str]:
    """The families of a ``/metrics`` page, whether or not they have samples."""
    return set(re.findall(r"^# TYPE (\S+)", page, re.MULTILINE))
