"""The pods of gateways in mode ``Deployment``, as they were when their Deployment had last changed.

They do not carry the label by which agents' pods ask for a sidecar, and kopf watches one selector of a resource. Nor need they be
watched: whatever happens to one of them changes the counts in its Deployment's status. So they are listed then, and only then.
"""

from collections.abc import Iterable

from switchyard_operator.api.pods import DEPLOYMENT_OF
from switchyard_operator.api.resource import Key
from switchyard_operator.controller.kube import Kube
from switchyard_operator.controller.observed import Pod
from switchyard_operator.controller.resources import PODS


class Replicas:
    """Knows the pods of Deployments."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._pods: dict[Key, tuple[Pod, ...]] = {}

    def of(self, gateway: Key) -> Iterable[Pod]:
        """The pods of a gateway's Deployment, when they were last looked at."""
        return self._pods.get(gateway, ())

    async def look(self, gateway: Key) -> None:
        """Look at them.

        Raises:
            KubeError: they could not be listed.
        """
        found: list[Pod] = []
        following = ""
        while True:
            page = await self._kube.page(PODS, gateway.namespace, f"{DEPLOYMENT_OF}={gateway.name}", following)
            found += map(Pod.of, page.items)
            following = page.following
            if not following:
                break
        self._pods[gateway] = tuple(found)

    def forget(self, gateway: Key) -> None:
        """It has no Deployment any more."""
        self._pods.pop(gateway, None)
