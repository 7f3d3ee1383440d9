"""Who owns a run: a process by its number, its start and its namespaces. No other module of the package is imported."""

import os

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def base36(number: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
    return text or "0"


def started(pid: int) -> int:
    """The clock tick after boot at which a process started; 0 where there is none, or only its remains."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])


def here() -> str:
    """A word for this boot and this namespace of process numbers."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = int(file.read().replace("-", ""), 16)
    except OSError:
        boot = 0
    return base36((boot ^ os.stat("/proc/self/ns/pid").st_ino) % 36**5)


def tag(pid: int) -> str:
    """The word that the names of a run's clusters start with."""
    return f"pytest-{base36(pid)}-{base36(started(pid))}-{here()}"


def is_gone(tag: str) -> bool:
    """Whether a tag of this boot and namespace names a process that has ended. Never true for anything else."""
    words = tag.split("-")
    if len(words) < 4 or words[0] != "pytest" or words[3] != here():
        return False
    try:
        pid, start = int(words[1], 36), int(words[2], 36)
    except ValueError:
        return False
    return started(pid) != start
