"""What importing the stores costs: Redis is not loaded before a store in Redis is made."""

from __future__ import annotations

import subprocess
import sys

import pytest

import xmcp.storage


def _run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    return done.stdout


def test_importing_the_stores_does_not_load_redis() -> None:
    loaded = {*_run("import sys; from xmcp.storage import MemoryCache, RedisCache; print(*sys.modules)").split()}
    assert "xmcp.storage.redis_cache" in loaded
    assert loaded & {"redis", "pydantic", "fastmcp", "mcp", "openai", "lxml"} == set()
    loaded = {*_run("import sys, xmcp.storage; print(*sys.modules)").split()}
    assert loaded & {"xmcp.storage.redis_cache", "xmcp.storage.redis_breakers"} == set()


@pytest.mark.parametrize("store", ["RedisCache", "RedisBreakers"])
def test_without_the_redis_package_a_store_in_redis_says_what_to_install(store: str) -> None:
    code = f"import sys; sys.modules['redis'] = None\nfrom xmcp.storage import {store}\n"
    told = _run(code + f"try: {store}()\nexcept ModuleNotFoundError as exc: print(exc)")
    assert 'pip install "xmcp[redis]"' in told


def test_every_public_name_is_there_and_no_other() -> None:
    for name in xmcp.storage.__all__:
        assert name in dir(xmcp.storage)
        getattr(xmcp.storage, name)
    with pytest.raises(AttributeError, match="MemoryCach'"):
        _ = xmcp.storage.MemoryCach
