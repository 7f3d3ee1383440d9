"""Runs the binary, and turns its JSON into values and its errors into one exception."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Optional

MISSING = (
    "helenus was not found{where}. Install it: pip install helenus"
    " (or name it: --helenus-binary PATH, or helenus_binary in the ini file)"
)


class HelenusError(Exception):
    """What `helenus` refused, in its own words."""

    def __init__(self, error: str, hint: Optional[str] = None, exit_code: int = 3) -> None:
        #: 2 usage, 3 environment, 4 cluster, as the binary's own exit codes.
        self.exit_code = exit_code
        self.error = error
        self.hint = hint
        super().__init__(f"{error}\nhint: {hint}" if hint else error)


def find(named: Optional[str]) -> str:
    """The path of the binary: the one named, of PATH, or beside this Python, as a wheel leaves it."""
    if named:
        found = shutil.which(os.path.expanduser(named))
        if found is None:
            raise HelenusError(MISSING.format(where=f" at {named}"))
        return os.path.abspath(found)
    found = shutil.which("helenus")
    if found is None:
        beside = Path(sys.executable).parent / "helenus"
        if not os.access(beside, os.X_OK):
            raise HelenusError(MISSING.format(where=" on PATH"))
        found = str(beside)
    return os.path.abspath(found)


def failure(arguments: tuple[str, ...], code: int, stderr: str) -> HelenusError:
    """The exception for what the binary wrote to standard error."""
    for line in reversed(stderr.strip().splitlines()):
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and str(said.get("format", "")).startswith("helenus.error/"):
            text = ": ".join([said["error"], *said.get("caused_by", [])])
            return HelenusError("\n".join([text, *said.get("log", [])]), said.get("hint"), code)
    verb = " ".join(("helenus", *arguments))
    return HelenusError(f"`{verb}` ended with exit code {code}: {stderr.strip()}", None, code)


def run_text(binary: str, *arguments: str) -> str:
    """Standard output of a verb; raises where it fails."""
    try:
        ended = subprocess.run(
            [binary, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise HelenusError(f"{binary} cannot be run: {error.strerror}") from None
    if ended.returncode != 0:
        raise failure(arguments, ended.returncode, ended.stderr or ended.stdout)
    return ended.stdout


def run(binary: str, *arguments: str) -> dict[str, Any]:
    """The JSON of a verb; raises where it fails."""
    said = run_text(binary, *arguments, "--format", "json")
    try:
        value = json.loads(said)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        verb = " ".join(("helenus", *arguments))
        raise HelenusError(f"`{verb}` printed no JSON: is {binary} Helenus?")
    return value
