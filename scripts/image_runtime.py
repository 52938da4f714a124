"""Gather what Python needs to run, out of the image this runs in, into a folder that can be an image: image_runtime.py FOLDER.

That is the interpreter, the standard library without what only people at a desk use, the shared libraries that these and wheels
link to, and the files that a C library and TLS look for. No shell, no package manager, no pip: what is not there cannot be used,
and need not be updated. The packages that files come from are listed where scanners look (`/var/lib/dpkg/status.d`, as in
distroless images), with their licences.
"""

import os
import re
import shutil
import ssl
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final

STANDARD_LIBRARY: Final = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))
UNUSED: Final = (
    *("test", "idlelib", "turtle*", "tkinter", "lib2to3", "pydoc_data", "ensurepip", "distutils"),
    *(
        "site-packages",
        "dist-packages",
        "config-*",
        "__pycache__",
        "*.a",
        "_test*",
        "_xxtest*",
        "xxlimited*",
        "_ctypes_test*",
    ),
    # What these link to is larger than all the rest: Kerberos, databases, terminals.
    *("nis.*", "_sqlite3.*", "_dbm.*", "_gdbm.*", "_tkinter.*", "_curses*", "readline.*"),
)
"""Names in the standard library, at any depth, that no server uses."""
WHEELS_MAY_USE: Final = (
    *("libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libresolv.so.2", "libutil.so.1"),
    *("libgcc_s.so.1", "libstdc++.so.6"),
)
"""What is on every system where manylinux wheels run (PEP 599), less what graphics needs. The C library also loads libgcc_s by itself."""
SYSTEM: Final = (
    *("/etc/os-release", "/etc/debian_version", "/etc/nsswitch.conf", "/etc/ld.so.conf"),
    *("/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/openssl.cnf", "/usr/lib/ssl/openssl.cnf"),
)
"""Files by whose names libraries, programs and scanners look; those that this image lacks are left out."""
ACCOUNTS: Final = {
    "passwd": "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n",
    "group": "root:x:0:\nnonroot:x:65532:\n",
}
PACKAGES: Final = Path("/var/lib/dpkg")


class Root:
    """A folder that becomes the root of an image."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.real: set[Path] = set()
        """Files of this system that are in it, by their names without links."""

    def bring(self, path: Path) -> None:
        """Bring a file of this system under its name, with every link on the way there."""
        for parent in reversed(path.parents):
            if parent.is_symlink():
                self._link(parent)
                return self.bring(parent.resolve() / path.relative_to(parent))
        if path.is_symlink():
            self._link(path)
            return self.bring(path.parent / path.readlink())
        target = self.inside(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
        self.real.add(path)
        return None

    def inside(self, path: Path) -> Path:
        """Where a path of this system is in the folder."""
        return self.folder / path.relative_to("/")

    def _link(self, path: Path) -> None:
        target = self.inside(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_symlink():
            target.symlink_to(path.readlink())


def standard_library() -> Iterator[Path]:
    """The files of the standard library that are to be brought."""
    for folder, folders, files in os.walk(STANDARD_LIBRARY):
        unused = shutil.ignore_patterns(*UNUSED)(folder, [*folders, *files])
        folders[:] = sorted(set(folders) - unused)
        yield from (Path(folder, name) for name in sorted(set(files) - unused))


def libraries(programs: list[Path]) -> set[Path]:
    """The shared libraries that programs and libraries need, in the end, and the loader."""
    said = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=True).stdout
    if missing := re.findall(r"(\S+) => not found", said):
        sys.exit(f"not in this image: {', '.join(missing)}")
    found = {Path(each) for each in re.findall(r"^\t(?:\S+ => )?(/\S+)", said, re.MULTILINE)}
    beside = {each.parent for each in found if each.name == "libc.so.6"}
    return found | {folder / name for folder in beside for name in WHEELS_MAY_USE if (folder / name).exists()}


def account_for(root: Root) -> None:
    """Say which Debian packages the files come from, and under which licences."""
    owners = {}
    for listed in PACKAGES.glob("info/*.list"):
        for line in listed.read_text().splitlines():
            owners[os.path.realpath(line)] = listed.stem.partition(":")[0]
    packages = {owners[str(file)] for file in root.real if str(file) in owners}
    folder = root.folder / "var/lib/dpkg/status.d"
    folder.mkdir(parents=True)
    for paragraph in (PACKAGES / "status").read_text().split("\n\n"):
        package = paragraph.partition("\n")[0].removeprefix("Package: ")
        if package in packages:
            (folder / package).write_text(f"{paragraph}\n")
            if (licence := Path("/usr/share/doc", package, "copyright")).exists():
                root.bring(licence)


def main(folder: str) -> None:
    """Make the folder."""
    root = Root(Path(folder))
    root.folder.mkdir(parents=True)
    interpreter = Path(sys.base_prefix, "bin", "python3")
    files = [interpreter, *standard_library()]
    modules = [file for file in files if file.suffix == ".so"]
    for file in [*files, *libraries([interpreter, *modules])]:
        root.bring(file)
    for file in (*map(Path, SYSTEM), *Path("/etc/ld.so.conf.d").glob("*.conf")):
        if file.exists():
            root.bring(file)
    # Official images have Python's own library where the loader does not look by itself.
    subprocess.run(["ldconfig", "-r", root.folder], check=True)
    if not (authorities := root.inside(Path(ssl.get_default_verify_paths().openssl_cafile))).is_symlink():
        authorities.parent.mkdir(parents=True, exist_ok=True)
        authorities.symlink_to("/etc/ssl/certs/ca-certificates.crt")
    for name, text in ACCOUNTS.items():
        (root.folder / "etc" / name).write_text(text)
    (root.folder / "tmp").mkdir(mode=0o1777)
    (root.folder / "tmp").chmod(0o1777)
    if PACKAGES.is_dir():
        account_for(root)


if __name__ == "__main__":
    main(*sys.argv[1:])
