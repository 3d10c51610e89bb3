"""The configuration: what a file may say, what is said of a wrong one, and that `init` writes what is read again."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from xmcp.gateway.config import GatewayConfig, is_loopback
from xmcp.gateway.config_file import LARGEST, BadConfig, commented_config, config_of, read_config
from xmcp.gateway.config_rules import CannotServe, UnsafeListening, refuse_unsafe, refuse_workers
from xmcp.gateway.keys import Keys, MissingVariable, digest, new_key

HASH = f"sha256:{'0' * 64}"


def config(text: str) -> GatewayConfig:
    """Return the configuration that a text means."""
    return config_of(tomllib.loads(text), "gateway.toml")


def test_the_file_of_init_has_every_setting_and_means_the_defaults() -> None:
    text = commented_config()
    read = config(text)
    defaults = GatewayConfig()
    assert (read.listen, read.runs, read.chat, read.sessions, read.openai) == (
        defaults.listen,
        defaults.runs,
        defaults.chat,
        defaults.sessions,
        defaults.openai,
    )
    with_all = "\n".join(
        line.removeprefix("# ") if " = " in line else line for line in text.split("# The models")[0].splitlines()
    )
    assert config(with_all).runs == defaults.runs
    for table in ("listen", "runs", "chat", "sessions", "openai"):
        for name, field in type(getattr(defaults, table)).model_fields.items():
            assert f"\n# {field.description}\n# {name} = " in text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[runs]\nmax_runing = 3", "there is no [runs] max_runing. Did you mean max_running?"),
        ("[run]\nmax_running = 3", "there is no run. Did you mean runs?"),
        (
            "zzz = 1",
            "there is no zzz. There are: listen, runs, chat, sessions, openai, audit, access, cache, metrics, models,",
        ),
        ('[runs]\nmax_running = "many"', "[runs] max_running must be an integer. It is: Number of chats"),
        ("[runs]\nmax_running = 0", "[runs] max_running must be greater than or equal to 1."),
        ("[runs]\nidle_seconds = -1", "[runs] idle_seconds must be greater than 0."),
        ("[runs]\nidle_seconds = inf", "[runs] idle_seconds must be"),
        ("[runs]\nidle_seconds = nan", "[runs] idle_seconds must be"),
        ("[runs]\nmax_running = true", "[runs] max_running must be an integer."),
        ("runs = [1]", "runs must be a table."),
        ("[servers]\nshop = 1", "[servers] shop must be a table."),
        ("[listen]\nport = 70000", "[listen] port must be less than or equal to 65535."),
        ('[openai]\nevents = "loud"', "[openai] events must be 'none', 'xmcp' or 'openwebui'."),
        ('[[models]]\nid = "a"', "[[models]] 1, provider is missing. It is: Whose model it is"),
        ('[[models]]\nid = "a:plain"\nprovider = "demo"', "[[models]] 1, id must have letters"),
        ('[[models]]\nid = ""\nprovider = "demo"', "[[models]] 1, id must have letters"),
        (2 * '[[models]]\nid = "a"\nprovider = "demo"\n', "models has the id 'a' twice."),
        ('[[keys]]\nname = "a"\ntenant = "t"', "[[keys]] 1 must have either hash or env."),
        (f'[[keys]]\nname = "a"\ntenant = "t"\nhash = "{HASH}"\nenv = "X"', "[[keys]] 1 must have either hash or env."),
        (f'[[keys]]\nname = "a b"\ntenant = "t"\nhash = "{HASH}"', "[[keys]] 1, name must have 1 to 128 letters"),
    ],
)
def test_a_wrong_setting_is_named_with_the_file_and_what_it_is_for(text: str, told: str) -> None:
    with pytest.raises(BadConfig) as error:
        config(text)
    assert str(error.value).startswith(f"gateway.toml: {told}")


def test_a_key_that_stands_in_the_file_by_mistake_is_not_repeated() -> None:
    with pytest.raises(BadConfig) as error:
        config('[[keys]]\nname = "a"\ntenant = "t"\nhash = "xmcp_secret-key"')
    assert "xmcp_secret-key" not in str(error.value)
    assert "must be sha256: and 64 hexadecimal digits" in str(error.value)


def test_every_fault_of_a_file_is_told_at_once() -> None:
    with pytest.raises(BadConfig) as error:
        config("[runs]\nmax_running = 0\nidle_seconds = 0\n[listen]\nport = -1")
    assert len(str(error.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[runs", "is not TOML: "),
        (b"\xff", "is not UTF-8: byte 0 is none of it."),
        (b"#" * (LARGEST + 1), "has more than 1,000,000 bytes."),
    ],
)
def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "gateway.toml"
    path.write_bytes(content)
    with pytest.raises(BadConfig) as error:
        read_config(path)
    assert told in str(error.value)
    assert str(path) in str(error.value)


def test_a_file_that_is_not_there_is_followed_by_how_to_write_one(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match=r"No such file or directory.*xmcp gateway init"):
        read_config(tmp_path / "gone.toml")


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("10.0.0.1", False),
        ("localhost.evil.example", False),
    ],
)
def test_only_loopback_is_safe_without_keys(host: str, own: bool) -> None:
    assert is_loopback(host) is own
    without = config(f'[listen]\nhost = "{host}"')
    if own:
        refuse_unsafe(without)
    else:
        with pytest.raises(UnsafeListening, match="xmcp gateway key"):
            refuse_unsafe(without)
    refuse_unsafe(config(f'[listen]\nhost = "{host}"\n[[keys]]\nname = "a"\ntenant = "t"\nhash = "{HASH}"'))


def test_a_new_key_opens_and_a_variable_that_is_not_set_is_named() -> None:
    key = new_key()
    listed = config(f'[[keys]]\nname = "a"\ntenant = "t"\nhash = "sha256:{digest(key).hex()}"').keys
    caller = Keys(listed, "none", {}).caller(f"Bearer {key}")
    assert caller is not None
    assert (caller.key_name, caller.tenant) == ("a", "t")
    assert new_key() != key
    by_variable = config('[[keys]]\nname = "a"\ntenant = "t"\nenv = "FRONT_END"').keys
    for environment in ({}, {"FRONT_END": " "}):
        with pytest.raises(MissingVariable, match="FRONT_END"):
            Keys(by_variable, "none", environment)
    assert Keys(by_variable, "none", {"FRONT_END": "k"}).caller("bearer k") is not None


def test_several_processes_are_refused_where_they_cannot_be_one_gateway() -> None:
    workers = "[listen]\nworkers = 2\n"
    key = f'[[keys]]\nname = "k"\ntenant = "t"\nhash = "{HASH}"\n'
    for limit in ("tokens_per_day = 1", "tokens_per_month = 1", "usd_per_month = 1.0"):
        with pytest.raises(CannotServe, match=r"workers = 2: the key 'k' has limits .* Set database in \[access\]"):
            refuse_workers(config(f"{workers}{key}{limit}"))
        refuse_workers(config(f'{workers}[access]\ndatabase = "keys.db"\n{key}{limit}'))
        refuse_workers(config(f"{key}{limit}"))
    refuse_workers(config(f"{workers}{key}requests_per_minute = 1"))
    with pytest.raises(CannotServe, match="needs Unix sockets"):
        refuse_workers(config(workers), has_unix_sockets=False)
    refuse_workers(config(""), has_unix_sockets=False)
