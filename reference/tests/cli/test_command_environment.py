"""What a client or a codec behind a command runs in: variables, a folder, a file for what it says."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from support.checked import check

PROGRAM = "import os, sys; print(os.environ.get('TOKEN_OF_MINE'), os.getcwd(), file=sys.stderr); sys.exit(1)"


@pytest.mark.parametrize("kind", ["client", "codec"])
def test_the_command_has_variables_and_a_folder_and_what_it_says_is_kept(kind: str, tmp_path: Path) -> None:
    log, command = tmp_path / "said.txt", f"{shlex.quote(sys.executable)} -c {shlex.quote(PROGRAM)}"
    log.write_text("of before")
    given = ("--env", "TOKEN_OF_MINE=s3cret-value", "--cwd", str(tmp_path), "--log", str(log))
    done = check(kind, command, *given, "--start-timeout", "120")
    assert done.returncode == 3, done.stdout + done.stderr
    assert log.read_text() == f"s3cret-value {tmp_path}\n"


def test_a_program_is_looked_for_in_its_folder(tmp_path: Path) -> None:
    program = tmp_path / "mine.sh"
    program.write_text("#!/bin/sh\necho here >&2\n")
    program.chmod(0o755)
    done = check("client", "./mine.sh", "--cwd", str(tmp_path), "--start-timeout", "120")
    assert (done.returncode, "here" in done.stdout) == (3, True), done.stdout + done.stderr
    assert "does not exist" in check("client", "./mine.sh").stdout
