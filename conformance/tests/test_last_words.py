"""What is kept of a program's standard error while it is judged."""

import subprocess
import sys

import pytest

from xmcp_conformance.core.last_words import KEPT, LastWords, telling_line


def test_the_last_line_of_much_is_kept_and_nothing_else():
    program = "import os\nfor _ in range(64): os.write(2, b'x' * 2**20)\nos.write(2, b'\\nno database\\n\\n')"
    with LastWords() as stderr:
        subprocess.run([sys.executable, "-c", program], stderr=stderr, timeout=300, check=True)
        assert stderr.telling_line() == "no database"
        assert len(stderr._tail) <= KEPT


def test_what_a_program_said_is_shown_without_secrets():
    program = "import os; os.write(2, b'cannot reach postgres://app:s3cret@db/sales')"
    with LastWords() as stderr:
        subprocess.run([sys.executable, "-c", program], stderr=stderr, timeout=300, check=True)
        assert stderr.telling_line() == "cannot reach postgres://[removed]@db/sales"


def test_a_program_that_says_nothing_has_no_last_line():
    with LastWords() as stderr:
        assert stderr.telling_line() == ""


NODE_STACK = """\
listening on http://localhost:3000
file:///srv/server.mjs:12
function connect() { throw new Error("DATABASE_URL is not set"); }
                           ^

Error: DATABASE_URL is not set
    at connect (file:///srv/server.mjs:12:28)
    at async node:internal/modules/esm/loader:643:26 {
  code: 'E_CONFIG',
  [cause]: TypeError: undefined is not a URL
      at file:///srv/config.mjs:1:1
}

Node.js v24.19.0
"""
NODE_RESOLVES = """\
node:internal/modules/package_json_reader:301
  throw new ERR_MODULE_NOT_FOUND(packageName, fileURLToPath(base), null);
        ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /srv/server.mjs
    at Object.getPackageJSONURL (node:internal/modules/package_json_reader:301:9) {
  code: 'ERR_MODULE_NOT_FOUND'
}

Node.js v24.19.0
"""
TSX_COMPILES = """\
node:internal/modules/run_main:123
    triggerUncaughtException(
    ^
Error: Transform failed with 1 error:
/srv/server.ts:1:8: ERROR: Unexpected ";"
    at failureErrorWithLog (/srv/node_modules/esbuild/lib/main.js:1467:15)

Node.js v22.1.0
"""
NPM = """\
npm error code E404
npm error 404 Not Found - no-such-server
npm error 404 'no-such-server@*' is not in this registry.
npm error A complete log of this run can be found in: /root/.npm/_logs/x.log
"""
GO = "panic: no database\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:6 +0x25\nexit status 2\n"
JAVA = 'Exception in thread "main" java.lang.IllegalStateException: no database\n\tat Main.main(Main.java:3)\n'
PYTHON = 'Traceback (most recent call last):\n  File "s.py", line 1\nModuleNotFoundError: No module named x\n'
LOG_AFTER_AN_ERROR = "Error: the cache is cold\n    at f (/srv/a.js:1:1)\nready, then killed\n"


@pytest.mark.parametrize(
    ("stderr", "line"),
    [
        (NODE_STACK, "Error: DATABASE_URL is not set (/srv/server.mjs:12)"),
        (NODE_RESOLVES, "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /srv/server.mjs"),
        (TSX_COMPILES, 'Error: Transform failed with 1 error: /srv/server.ts:1:8: ERROR: Unexpected ";"'),
        (NPM, "npm error 404 Not Found - no-such-server"),
        (GO, "panic: no database"),
        (JAVA, 'Exception in thread "main" java.lang.IllegalStateException: no database'),
        (PYTHON, "ModuleNotFoundError: No module named x"),
        (LOG_AFTER_AN_ERROR, "ready, then killed"),
        ("one\n}\n", "}"),
        ("", ""),
    ],
)
def test_the_line_that_is_shown_is_the_error_and_not_the_end_of_its_stack(stderr: str, line: str) -> None:
    assert telling_line(stderr.splitlines()) == line
