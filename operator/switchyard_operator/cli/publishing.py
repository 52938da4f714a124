"""From manifests to the config directory that a sidecar in this process follows."""

import secrets
from pathlib import Path

from switchyard_operator.api.resource import Key
from switchyard_operator.cli.inputs import UnusableInput, choose_gateway, describe, read
from switchyard_operator.cli.voice import Voice
from switchyard_operator.compile import GatewayRefused, Report, compile_gateway
from switchyard_operator.compile.aliases import idle_aliases
from switchyard_operator.compile.directory import write
from switchyard_operator.manifests.sources import Sources


class Publisher:
    """Compiles one gateway from ``sources`` into ``directory``, each time it is told to. Not to be used by two threads."""

    def __init__(self, sources: Sources, gateway: Key | None, directory: Path, voice: Voice) -> None:
        self.sources = sources
        self.directory = directory
        self._gateway = gateway
        self._voice = voice
        # The same for the life of the process: revisions must change with the secrets and with nothing else.
        self._key = secrets.token_bytes(32)
        self._reports: frozenset[Report] = frozenset()

    def publish(self) -> Key:
        """Read, compile and write; say what is new to say. The gateway that is chosen first stays chosen.

        Raises :class:`UnusableInput`, and then has changed nothing.
        """
        manifests = read(self.sources)
        gateway = choose_gateway(manifests, self._gateway)
        try:
            compiled = compile_gateway(manifests.objects, gateway, key=self._key)
        except GatewayRefused as refusal:
            raise UnusableInput(describe(report, manifests) for report in refusal.reports) from None
        try:
            write(self.directory, compiled.files())
        except OSError as error:
            raise UnusableInput([f"error: {self.directory} cannot be written: {error.strerror}"]) from None
        self._gateway = gateway
        reports = (*idle_aliases(manifests.objects), *compiled.reports)
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
