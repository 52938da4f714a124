"""Install the real MCP servers, clients and the conformance suite that Switchyard is tested against.

    counterparts.py install [--only python,node]     bring .counterparts/ up to date
    counterparts.py list                             print, as JSON, which parts are there and where

Every version is pinned and checked against a hash that is committed: ``tests/counterparts/python/*.txt`` for pip,
``package-lock.json`` for npm, ``go.sum`` for Go, ``Cargo.lock`` for Cargo, ``jars.sha256`` for Maven. A part is installed again
only when what it is made from has changed: the stamp beside it holds the digest of its lock files and sources, so a second run
costs no more than reading them.

A toolchain that is not on this machine, or is too old, costs its own part alone: it is named and left out, and the tests that
need it are skipped. With ``CI=true`` in the environment a missing part is an error.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "counterparts"
TARGET = ROOT / ".counterparts"

KINDS = ("python", "node", "go", "rust", "java")
PYTHON_VENVS = ("mcp2", "mcp1", "fastmcp")
"""One virtual environment for each requirements file: the SDK's generations cannot share one."""
CATALOGUE = SOURCES / "tools.json"
"""What the servers offer; those that are compiled have it inside."""
NODE_FILES = ("package.json", "package-lock.json", ".npmrc")
NODE_LINK = SOURCES / "node" / "node_modules"


class InstallError(Exception):
    """A part could not be installed; the message says which step failed and what it printed."""


@dataclass(frozen=True)
class Tool:
    """A program that has to be on this machine."""

    name: str
    oldest: tuple[int, ...] = ()
    """The oldest version that will do; empty: any."""
    ask: str = "--version"
    """The argument that makes it tell its version."""

    def trouble(self) -> str | None:
        """What is wrong with it, None when nothing is."""
        if shutil.which(self.name) is None:
            return f"{self.name} not found on PATH"
        if not self.oldest:
            return None
        told = subprocess.run(
            [self.name, self.ask],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        version = re.search(rb"\d+(\.\d+)*", told.stdout)
        if told.returncode or version is None:
            return f"{self.name} does not run ({told.stdout.decode(errors='replace').partition(chr(10))[0]})"
        if tuple(map(int, version[0].split(b"."))) < self.oldest:
            return f"{self.name} {version[0].decode()} is older than {'.'.join(map(str, self.oldest))}"
        return None


@dataclass(frozen=True)
class Part:
    """One thing that is installed as a whole, or not at all."""

    name: str
    """``kind/what``, such as ``python/mcp2``; also the folder below ``.counterparts``."""
    tools: tuple[Tool, ...]
    """What it is installed with."""
    inputs: tuple[Path, ...]
    """Files that decide what is installed."""
    install: Callable[[Path], None]
    leaves: tuple[Path, ...] = ()
    """What it makes outside its folder."""

    @property
    def kind(self) -> str:
        """One of ``KINDS``."""
        return self.name.partition("/")[0]

    @property
    def folder(self) -> Path:
        """Where it is installed."""
        return TARGET / self.name

    @property
    def stamp(self) -> Path:
        """The file that says what the folder was made from."""
        return self.folder / ".stamp"

    def troubles(self) -> list[str]:
        """Why it cannot be installed on this machine."""
        return [trouble for tool in self.tools if (trouble := tool.trouble())]

    def digest(self) -> str:
        """What an up-to-date stamp holds. The interpreter counts for Python, since a venv points at the one that made it."""
        digest = hashlib.sha256(sysconfig.get_python_version().encode() if self.kind == "python" else b"")
        digest.update(sys.base_prefix.encode() if self.kind == "python" else b"")
        for path in self.inputs:
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()

    def is_current(self) -> bool:
        """Whether the folder holds just what the lock files ask for."""
        made = self.stamp.is_file() and all(path.exists() for path in self.leaves)
        return made and self.stamp.read_text() == self.digest()


def run(command: Sequence[str | Path], cwd: Path, **environment: str) -> None:
    """Run one installation step quietly; its output is shown only when it fails."""
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode:
        output = (done.stdout + done.stderr).decode(errors="replace").strip()
        raise InstallError(f"`{' '.join(map(str, command))}` ended with status {done.returncode}:\n{output}")


def install_venv(folder: Path) -> None:
    """Make a virtual environment from the requirements file of the same name."""
    requirements = SOURCES / "python" / f"{folder.name}.txt"
    run([sys.executable, "-m", "venv", folder], ROOT)
    pip: tuple[str | Path, ...] = (folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--quiet")
    run([*pip, "install", "--require-hashes", "--only-binary", ":all:", "-r", requirements], ROOT)


def install_node(folder: Path) -> None:
    """Install from the lock file, without running any package's own scripts.

    Node looks for modules beside the program, so a link to the result is left there.
    """
    for name in NODE_FILES:
        shutil.copy(SOURCES / "node" / name, folder / name)
    run(["npm", "ci", "--loglevel=error"], folder)
    NODE_LINK.unlink(missing_ok=True)
    NODE_LINK.symlink_to(Path(os.path.relpath(folder / "node_modules", NODE_LINK.parent)))


def install_go(folder: Path) -> None:
    """Build the server and the client with the Go toolchain that is here, never another that it would fetch."""
    run(
        ["go", "build", "-trimpath", "-o", f"{folder}/", "./..."],
        SOURCES / "go",
        GOFLAGS="-mod=readonly",
        GOTOOLCHAIN="local",
    )


def install_rust(folder: Path) -> None:
    """Build the server and the client, and keep nothing else: what they are made of is many times their size.

    Where ``CARGO_TARGET_DIR`` names a folder, it is kept there, for the next time.
    """
    kept = os.environ.get("CARGO_TARGET_DIR")
    build = Path(kept) if kept else folder / "target"
    run(
        ["cargo", "install", "--path", ".", "--locked", "--debug", "--quiet", "--root", folder, "--target-dir", build],
        SOURCES / "rust",
    )
    if not kept:
        shutil.rmtree(build)


def install_java(folder: Path) -> None:
    """Have Maven fetch the jars, see that they are the ones we know, and compile the programs against them."""
    java = SOURCES / "java"
    jars, classes = folder / "lib", folder / "classes"
    fetch = ["mvn", "--batch-mode", "--quiet", "dependency:copy-dependencies"]
    run([*fetch, "-DincludeScope=runtime", f"-DoutputDirectory={jars}"], java)
    check_jars(jars, java / "jars.sha256")
    sources = sorted(java.rglob("*.java"))
    run(["javac", "--release", "17", "-d", classes, "-cp", f"{jars}/*", *sources], java)
    shutil.copy(CATALOGUE, classes / CATALOGUE.name)


def check_jars(jars: Path, lock: Path) -> None:
    """Compare what Maven has put into a folder with the list that ``sha256sum`` once made of it.

    Maven has no lock file, and takes the checksums it looks at from where it takes the jars.
    """
    found = {f"{hashlib.sha256(jar.read_bytes()).hexdigest()}  {jar.name}" for jar in jars.iterdir()}
    if different := sorted(found ^ set(lock.read_text().splitlines())):
        raise InstallError(f"the jars are not those of {lock.relative_to(ROOT)}:\n" + "\n".join(different))


def parts() -> list[Part]:
    """Everything there is to install."""
    python = [Part(f"python/{name}", (), (SOURCES / "python" / f"{name}.txt",), install_venv) for name in PYTHON_VENVS]
    node = SOURCES / "node"
    go = SOURCES / "go"
    rust = SOURCES / "rust"
    java = SOURCES / "java"
    return [
        *python,
        Part(
            "node",
            (Tool("node"), Tool("npm")),
            tuple(node / name for name in NODE_FILES),
            install_node,
            leaves=(NODE_LINK,),
        ),
        Part(
            "go",
            (Tool("go", (1, 25), "version"),),
            (go / "go.mod", go / "go.sum", *sorted(go.rglob("*.go"))),
            install_go,
        ),
        Part(
            "rust",
            (Tool("cargo", (1, 88)), Tool("cc")),
            (rust / "Cargo.toml", rust / "Cargo.lock", CATALOGUE, *sorted((rust / "src").rglob("*.rs"))),
            install_rust,
        ),
        Part(
            "java",
            (Tool("java", (17,), "-version"), Tool("javac", (17,), "-version"), Tool("mvn")),
            (java / "pom.xml", java / "jars.sha256", CATALOGUE, *sorted(java.rglob("*.java"))),
            install_java,
        ),
    ]


def install(part: Part) -> None:
    """Install one part from the ground up."""
    shutil.rmtree(part.folder, ignore_errors=True)
    part.folder.mkdir(parents=True)
    part.install(part.folder)
    part.stamp.write_text(part.digest())


def install_all(wanted: Iterable[Part]) -> int:
    """Install what is out of date, side by side (most of it is waiting for the network). Return the exit status."""
    required = os.environ.get("CI") == "true"
    status = 0
    ready = []
    for part in wanted:
        if part.is_current():
            continue
        if troubles := " and ".join(part.troubles()):
            message = "error: {}: {}" if required else "skipped: {}: {}; its tests are too"
            print(message.format(part.name, troubles))
            status = status or int(required)
        else:
            ready.append(part)
    with ThreadPoolExecutor(max_workers=4) as pool:
        for part, future in [(part, pool.submit(install, part)) for part in ready]:
            try:
                future.result()
            except (InstallError, OSError) as error:
                print(f"error: {part.name}: {error}", file=sys.stderr)
                status = 1
            else:
                print(f"installed {part.name}", flush=True)
    return status


def describe() -> dict[str, str | None]:
    """Each part's name with its folder, or None where it is not installed or out of date."""
    return {part.name: str(part.folder) if part.is_current() else None for part in parts()}


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    installing = commands.add_parser("install", help="install what is missing or out of date")
    installing.add_argument(
        "--only", default=",".join(KINDS), help="kinds to install, separated by commas: %(default)s"
    )
    commands.add_parser("list", help="print as JSON where each part is")
    options = parser.parse_args(arguments)
    if options.command == "list":
        print(json.dumps(describe()))
        return 0
    kinds = options.only.split(",")
    if unknown := sorted(set(kinds) - set(KINDS)):
        parser.error(f"--only: unknown kind {', '.join(unknown)}; there are {', '.join(KINDS)}")
    return install_all(part for part in parts() if part.kind in kinds)


if __name__ == "__main__":
    sys.exit(main())
