"""From manifests to the config directory that a sidecar in this process follows."""

import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.cli.inputs import only_gateway, read
from switchyard_operator.cli.unusable import UnusableInput
from switchyard_operator.cli.voice import Voice
from switchyard_operator.compile import CompiledGateway, Reason, Report, Severity, compile_gateway
from switchyard_operator.compile.aliases import idle_aliases
from switchyard_operator.compile.directory import write
from switchyard_operator.manifests.sources import Sources


class Publisher:
    """Compiles one gateway from ``sources`` into ``directory``, each time it is told to. Not to be used by two threads."""

    def __init__(
        self, sources: Sources, gateway: Key | None, directory: Path, voice: Voice, *, uses_port: bool = True
    ) -> None:
        self.sources = sources
        self.directory = directory
        self._gateway = gateway
        self._voice = voice
        self._uses_port = uses_port
        """Whether the port that is listened on is the manifests'."""
        self._port: int | None = None
        # The same for the life of the process: revisions must change with the secrets and with nothing else.
        self._key = secrets.token_bytes(32)
        self._reports: frozenset[Report] = frozenset()
        self._unused: Mapping[str, int] = {}
        self._refused = False

    def publish(self) -> Key:
        """Read, compile and write; say what is new to say. The gateway that is chosen first stays chosen.

        Raises :class:`UnusableInput`, and then has changed nothing.
        """
        manifests = read(self.sources)
        gateway = only_gateway(manifests, self._gateway)
        compiled = compile_gateway(manifests.objects, gateway, revision_key=self._key)
        try:
            write(self.directory, compiled.files())
        except OSError as error:
            raise UnusableInput([f"error: {self.directory} cannot be written: {error.strerror}"]) from None
        self._gateway = gateway
        if manifests.unused != self._unused:
            self._voice.unused(manifests)
            self._unused = manifests.unused
        reports = (*idle_aliases(manifests.objects), *compiled.reports, *self._moved(compiled))
        for report in dict.fromkeys(reports):
            if report not in self._reports:
                self._voice.report(report, manifests)
        self._reports = frozenset(reports)
        return gateway

    def publish_if_usable(self) -> None:
        """As :meth:`publish`; input that cannot be used is said, and what runs goes on."""
        try:
            self.publish()
        except UnusableInput as unusable:
            self._voice.refused(unusable.lines)
            self._refused = True
        else:
            if self._refused:
                self._voice.usable_again()
            self._refused = False

    def _moved(self, compiled: CompiledGateway) -> Iterator[Report]:
        """A port is listened on from the start; another one is not followed."""
        port = compiled.config.listener.port
        if self._port is None:
            self._port = port
        if self._uses_port and port != self._port:
            ref = Ref("MCPGateway", compiled.config.namespace, compiled.config.name)
            message = f"{port} counts when `switchyard run` is started anew; until then it listens on {self._port}"
            path = ("spec", "listener", "port")
            yield Report(Severity.WARNING, ref, path, Reason.NOT_YET_EFFECTIVE, message)
