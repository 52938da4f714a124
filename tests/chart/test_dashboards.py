"""The dashboards show what there is to see. That of the operator is tested beside the operator."""

from pathlib import Path

from chart.dashboards import exposed, metrics
from fakes.gateway import gateway


async def test_the_gateways_dashboard_reads_metrics_that_gateways_have(tmp_path: Path) -> None:
    """A metric that is renamed takes its panel along."""
    async with gateway(tmp_path, {}) as gw:
        assert metrics("gateways") <= exposed(await gw.metrics())
