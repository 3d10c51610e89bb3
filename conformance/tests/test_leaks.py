"""What leaks is found in every language and form; what only looks like it is not."""

from __future__ import annotations

import pytest

from xmcp_conformance.core.leaks import leaks, redacted

STACK_TRACES = [
    'Traceback (most recent call last):\n  File "/app/a.py", line 3, in f\nValueError: x',
    'failed: File "a.py", line 12',
    "java.lang.NullPointerException\n\tat com.acme.Tool.run(Tool.java:42)",
    "boom at com.acme.Tool.run(Tool.kt:42) at com.acme.Main.main(Main.kt:1)",
    'Exception in thread "main" java.lang.Error',
    "Caused by: java.sql.SQLException: closed",
    "Error: x\n    at run (/app/dist/index.js:10:5)",
    "Error: x | at run (/app/dist/index.js:10:5) | at node:internal/x:1:2",
    "TypeError: r is not a function at e (index.js:1:20345)",
    "System.Exception: x at Acme.Tools.Sales.Run(String id) in C:\\src\\Sales.cs:line 12",
    "System.Exception: x at Acme.Tools.Sales.Run(String id, Int32 n)",
    "panic: runtime error: index out of range [3]\n\ngoroutine 1 [running]:",
    "main.run(...) /src/main.go:12 +0x1d",
    "thread 'main' panicked at src/main.rs:4:5",
    "called `Option::unwrap()` on a `None` value, src/tools/sales.rs:40:12",
    "PHP Fatal error in /srv/www/index.php:12",
    "Stack trace: #0 /srv/www/index.php(12): run() #1 {main}",
    "undefined method `x' /srv/app/tool.rb:12:in `run'",
    "tool.rb:12:in 'Object#run'",
]
PATHS = [
    "/home/alice/data/sales.db",
    "no such file: /home/alice/.config",
    "/root/.ssh",
    "/usr/lib/python3/dist-packages/x",
    "/var/lib/postgresql/data",
    "/var/task/index",
    "/run/secrets/db",
    "/proc/self/environ",
    "/etc/passwd",
    "/etc/acme/server.yaml",
    "/app/main.py",
    "/tmp/export.csv",
    "/opt/acme/node_modules/express",
    "file:///srv/app/data.json",
    "C:\\Users\\alice\\sales.db",
    "C:\\\\Users\\\\alice\\\\sales.db",
    "D:/work/acme/data.csv",
    "\\\\fileserver\\share\\sales.xls",
    "/Users/alice/x",
]
SECRETS = [
    "AKIAABCDEFGHIJKLMNOP",
    "ASIAABCDEFGHIJKLMNOP",
    "ghp_abcdefghijklmnopqrstuvwxyz0123",
    "sk-abcdefghijklmnopqrstuv",
    "Authorization: Bearer abcdefghijklmnopqrstuv",
    "postgres://app:s3cret@db/sales",
    "redis://:hunter22@cache:6379/0",
    "Server=db;Password=hunter22;",
    "api_key=abcd1234",
    "AWS_SECRET_ACCESS_TOKEN=abcd1234",
    "DefaultEndpointsProtocol=https;AccountKey=abcdefgh1234==",
    "https://x.blob.core.windows.net/a?sig=abcdefghij%2Bklmnopqrst",
    "https://s3/x?X-Amz-Signature=abcdef0123456789",
    "-----BEGIN RSA PRIVATE KEY-----",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefgh",
    "ya29.abcdefghijklmnopqrstuvwx",
]
NOTHING = [
    "/home/kitchen/light",
    "There is no route /home/kitchen/light; try /home/lights.",
    "/data/sales/2026",
    "/app/orders/17",
    "GET /users/17/orders",
    "https://example.org/home/alice/report.pdf",
    "The class at 10:30:15 is full (room 4:1).",
    "Meet at Acme.Tools.Sales today",
    "password: must have 12 characters",
    "password=***",
    "postgres://app:***@db/sales",
    "postgres://app:<password>@db/sales",
    "The token is required.",
    "look at line 12 of the file",
    "ratio a/b/c",
    "C: is full",
    "Go to example.go today",
    "in two weeks",
]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *[("stack trace", text) for text in STACK_TRACES],
        *[("path", text) for text in PATHS],
        *[("secret", text) for text in SECRETS],
    ],
)
def test_what_leaks_is_found_alone_and_in_the_middle_of_a_text(kind, text) -> None:
    for around in (text, f"It failed: {text}", f"({text}) again\nand again"):
        assert kind in {leak.kind for leak in leaks(around)}, around


@pytest.mark.parametrize("text", NOTHING)
def test_what_only_looks_like_a_leak_is_none(text) -> None:
    assert [leak for around in (text, f"It failed: {text}.") for leak in leaks(around)] == []


@pytest.mark.parametrize("secret", SECRETS)
def test_the_words_of_a_program_are_shown_without_their_secrets(secret: str) -> None:
    shown = redacted(f"connect: '{secret}' failed, {secret}")
    assert "[removed]" in shown
    assert shown.startswith("connect: '")
    assert [leak for leak in leaks(shown) if leak.kind == "secret"] == []


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("the key 'sk-abcdefghijklmnopqrstuv-x_9' is wrong", "the key '[removed]' is wrong"),
        ("redis://:hunter22@cache:6379/0 is down", "redis://[removed]@cache:6379/0 is down"),
        ("postgres://u:s3cr/et@db", "postgres://[removed]@db"),
        ("x\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nAb==\n-----END RSA PRIVATE KEY-----\ny", "x\n[removed]\ny"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE\nAb", "[removed]"),
        ("password=abc,def1234 PASSWORD=ab;cdefghi", "password=[removed] PASSWORD=[removed]"),
        ("token='abc,defghijk' password=\"a b c\"", "token=[removed] password=[removed]"),
        ('{"password": "hunter22", "user": "ada"}', '{"password": [removed], "user": "ada"}'),
        ("Authorization: Basic dXNlcjpwdw==", "Authorization: Basic [removed]"),
        ("Server=db;Password=hunter22", "Server=db;Password=[removed]"),
    ],
)
def test_all_of_a_secret_is_removed_and_nothing_else(said: str, shown: str) -> None:
    assert redacted(said) == shown


@pytest.mark.parametrize(
    "words",
    [
        *NOTHING,
        "401: the token is not valid; set password=*** and api_key=<yours> (https://example.com/a?b=c@d)",
        '{"url":"http://localhost:8080","from":"a@b"}',
        "http://127.0.0.1:3000;user=x@y",
        "Settings(api_key=None, password=None)",
        "disk-usage and a task-abcdefghijklmnopqrst",
    ],
)
def test_words_without_a_secret_are_shown_as_they_are(words: str) -> None:
    assert redacted(words) == words
