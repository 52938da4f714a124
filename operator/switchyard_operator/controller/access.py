"""Where the API server is, and how we are let in. What configurations look like is the official client's business.

The order is that of other controllers (controller-runtime, ``pkg/client/config``): a file that is named, ``KUBECONFIG``, the pod's
service account, ``~/.kube/config``. Tokens are short-lived: each request takes the present one, and one that is refused makes
the configuration be read anew, once.
"""

import os
import ssl
from pathlib import Path
from typing import Final

import structlog
from aiohttp import ClientConnectionError, ClientHandlerType, ClientRequest, ClientResponse
from kubernetes.aio.client import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.aio.config import (
    KUBE_CONFIG_DEFAULT_LOCATION,
    ConfigException,
    load_incluster_config,
    load_kube_config,
)

_UNAUTHORIZED: Final = 401

_log = structlog.get_logger()


class NoAccess(Exception):  # noqa: N818 - the name says it
    """No usable configuration, or its credentials cannot be had."""


class Access:
    """The way to one API server. May be used by several event loops: what changes is replaced, never altered."""

    def __init__(self, configuration: Configuration, kubeconfig: Path | None) -> None:
        self._configuration = configuration
        self._kubeconfig = kubeconfig

    @classmethod
    async def load(cls, kubeconfig: Path | None = None) -> "Access":
        """Find the configuration; ``kubeconfig`` before all others.

        Raises:
            NoAccess: there is none, or it cannot be used.
        """
        return cls(await _configuration(kubeconfig), kubeconfig)

    @property
    def server(self) -> str:
        """The API server's base URL."""
        return str(self._configuration.host).rstrip("/")

    @property
    def proxy(self) -> str | None:
        """The proxy on the way, if the configuration names one."""
        return self._configuration.proxy

    def tls(self) -> ssl.SSLContext:
        """The API server's authorities and our client certificate, read now. Blocks for the time of reading files."""
        return RESTClientObject(self._configuration).ssl_context

    async def authorize(self, request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
        """Send a request with the present credentials: an aiohttp client middleware.

        Raises:
            ClientError: it could not be sent, or was not answered.
        """
        await self._sign(request)
        response = await _sent(request, send)
        if response.status != _UNAUTHORIZED:
            return response
        try:
            self._configuration = await _configuration(self._kubeconfig)
        except NoAccess as error:  # perhaps it is just being replaced
            _log.warning("configuration_unusable", error=str(error))
            return response
        response.close()
        await self._sign(request)
        return await _sent(request, send)

    async def _sign(self, request: ClientRequest) -> None:
        token = await self._configuration.get_api_key_with_prefix(
            "BearerToken"
        )  # the service account's, read each minute
        if token is not None:
            request.headers["Authorization"] = token.strip()


async def _sent(request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
    """Send a request.

    An event loop may take a new connection's descriptor for one that is in use (``RuntimeError``), where others were reset in the
    handshake, as by an API server that is just starting. That is one more connection that could not be made.
    """
    try:
        return await send(request)
    except RuntimeError as error:
        raise ClientConnectionError(str(error)) from error


async def _configuration(kubeconfig: Path | None) -> Configuration:
    configuration = Configuration()
    in_pod = kubeconfig is None and "KUBECONFIG" not in os.environ and "KUBERNETES_SERVICE_HOST" in os.environ
    source = "the pod's service account" if in_pod else str(kubeconfig or KUBE_CONFIG_DEFAULT_LOCATION)
    try:
        if in_pod:
            load_incluster_config(configuration)  # type: ignore[no-untyped-call]
        elif _exists(source):
            await load_kube_config(source, client_configuration=configuration, persist_config=False)  # type: ignore[no-untyped-call]
        else:
            raise NoAccess(f"no access to an API server: there is no {source}")
    except (ConfigException, OSError, ValueError) as error:
        raise NoAccess(f"no access to an API server: {source}: {error}") from error
    return configuration


def _exists(files: str) -> bool:
    """Whether any file of a list such as KUBECONFIG may hold is there."""
    return any(Path(file).is_file() for file in files.split(os.pathsep))
