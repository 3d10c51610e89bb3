"""What is kept of a program's standard error while it is judged."""

import subprocess
import sys

from xmcp_conformance.profiles.server.last_words import KEPT, LastWords


def test_the_last_line_of_much_is_kept_and_nothing_else():
    program = "import os\nfor _ in range(64): os.write(2, b'x' * 2**20)\nos.write(2, b'\\nno database\\n\\n')"
    with LastWords() as stderr:
        subprocess.run([sys.executable, "-c", program], stderr=stderr, timeout=60, check=True)
        assert stderr.last_line() == "no database"
        assert len(stderr._tail) <= KEPT


def test_a_program_that_says_nothing_has_no_last_line():
    with LastWords() as stderr:
        assert stderr.last_line() == ""
