"""What an application may pass as a server, and how a FastMCP client for it is made. No I/O.

A target is a URL (`http://localhost:3333`; the path `/mcp` is added where there is none), a command whose program
speaks MCP on stdio (`"python srv.py"` or `["python", "srv.py"]`), a server object of this process (`XMCP`, `FastMCP`),
or anything else that `fastmcp.Client` accepts; a `fastmcp.Client` keeps its own authentication, headers and protocol
era. An object with `discover_tools` and `execute_tool_call` (`interfaces.ToolClient`) is a target, too. `ServerTarget`
adds options to a target: headers, environment, roots. A program gets only a few environment variables (`PATH`, `HOME`,
...); pass others in `env`.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import shlex
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast
from urllib.parse import urlsplit, urlunsplit

from xmcp.chat.untrusted_text import without_secrets
from xmcp.client.servers.sampling import Handler as SamplingHandler
from xmcp.client.servers.server_protocols import NotificationHandler
from xmcp_models.registry import EXTENSION_ID, VERSION

if TYPE_CHECKING:
    import fastmcp
    import httpx2
    from mcp_types import Root

    from xmcp.client.hooks.middleware import ChatContext

Roots: TypeAlias = "Sequence[str | Path | Root]"

_URL: Final = re.compile(r"(?i)https?://")
_HOST_AND_PORT: Final = re.compile(r"[\w.-]+:\d+(?:/\S*)?")
_MODE: Final = re.compile(r"auto|legacy|\d{4}-\d{2}-\d{2}")
_DECIDING_VARIABLES: Final = ("PATH", "HOME", "LOGNAME", "USER")
"""Environment variables that a program inherits and that may decide which data it finds."""


@dataclass(frozen=True)
class ServerTarget:
    """A target with options. Its `repr` shows no secret.

    Functions for `headers` and `auth` are called at the beginning of each turn of a chat, so tokens can be renewed.
    Chats with different credentials never share a connection, a list of tools or a cached answer; an `httpx2.Auth`
    counts as the same only if it is the same object. The tools of such a server are offered to chats only, and are not
    in `AIClient.tools`. If a function fails, that chat cannot use the server, and no other is affected.

    Args:
        target: A URL, a command, or an object, as described for `servers` of `AIClient`.
        headers: For a URL: HTTP headers of every request; or a function, sync or async, that gets the chat
            (`ChatContext`: `tenant_id`, `session_id`, `chat_id`, `state`) and returns them.
        auth: For a URL: a bearer token, `"oauth"`, or an `httpx2.Auth`; or such a function that returns one.
        http_client: For a URL: an `httpx2.AsyncClient` that sends the requests, with its proxies, certificates and
            hooks. The caller closes it, after the `AIClient`.
        env: For a command: environment variables, in addition to the few that it inherits.
        cwd: For a command: its working directory.
        roots: The roots that the server gets when it asks for them: `file://` URIs, paths or `Root`s, or a function
            that returns them each time. `None`: the client has no roots.
        xmcp: Whether the text of results is read as documents. `None`: if the server announces the extension
            (XMCP-MCP-010).
        mode: The protocol era: `auto`, `legacy`, or a revision from 2026-07-28 on.
        connect_timeout: Seconds for connecting to this server and listing its tools; `None`: as for the others.
    """

    target: Any
    _: KW_ONLY
    headers: Mapping[str, str] | Callable[[ChatContext], Any] | None = field(default=None, repr=False)
    auth: Any = field(default=None, repr=False)
    http_client: httpx2.AsyncClient | None = field(default=None, repr=False)
    env: Mapping[str, str] | None = field(default=None, repr=False)
    cwd: str | Path | None = None
    roots: Roots | Callable[[], Roots] | None = None
    xmcp: bool | None = None
    mode: str = "auto"
    connect_timeout: float | None = None

    def __repr__(self) -> str:
        return f"ServerTarget({_label(self.target)!r}, xmcp={self.xmcp!r}, mode={self.mode!r})"


Target: TypeAlias = "str | Sequence[str] | ServerTarget | Any"


@dataclass(frozen=True, slots=True)
class Source:
    """A validated target: its label for messages, without credentials, and how to make a client for it."""

    label: str
    client: Callable[[NotificationHandler], fastmcp.Client[Any]]
    identity: str = field(default_factory=lambda: _unique(), repr=False)
    """Equal for two sources only if they lead to the same server. Contains no secret."""
    xmcp: bool | None = None
    roots: Callable[[], list[Root]] | None = None


def source(target: Target, connect_timeout: float, sampling: Callable[[str], SamplingHandler] | None = None) -> Source:
    """Return the source that a target describes, whose credentials do not depend on the chat.

    `sampling` makes what answers the server's sampling requests, given the server's label; `None`: they are refused.

    Raises:
        TypeError: the target is not valid.
        ValueError: an empty command, a URL without a host, or options of a `ServerTarget` that do not fit its target.
    """
    given = target if isinstance(target, ServerTarget) else ServerTarget(target=target)
    check(given)
    inner = given.target
    is_url, is_command = _is_url(inner), _is_command(inner)
    roots = None if given.roots is None else _roots(given.roots)
    label = _label(inner)
    if is_url:
        address = with_default_path(inner)
        label = without_secrets(address)
        headers = dict(cast("Mapping[str, str]", given.headers or {}))

        def transport(on_fault: NotificationHandler) -> Any:
            return _http(address, headers, given.http_client, on_fault)

        known: Sequence[Any] = ["url", address, headers, given.auth]
        if given.http_client is not None:
            known = [*known, given.http_client]
    elif is_command:
        argv = shlex.split(inner) if isinstance(inner, str) else [str(word) for word in inner]
        if not argv:
            raise ValueError("An empty command is not a valid server target; pass the program and its arguments.")
        cwd = os.fspath(given.cwd) if given.cwd is not None else None

        def transport(on_fault: NotificationHandler) -> Any:
            return _stdio(argv, given.env, cwd, on_fault)

        inherited = {name: os.environ.get(name) for name in _DECIDING_VARIABLES}
        known = ["command", argv, {**inherited, **(given.env or {})}, os.path.abspath(cwd or ".")]
    else:

        def transport(on_fault: NotificationHandler) -> Any:  # noqa: ARG001 - `prepared` gives it to `inner`
            return inner

        known = []

    def client(on_notification: NotificationHandler) -> fastmcp.Client[Any]:
        made = transport(on_notification)
        return _client(made, on_notification, given, roots, connect_timeout, sampling and sampling(label))

    identity = _hash([*known, given.xmcp, given.mode, given.roots]) if known else _unique()
    return Source(label, client, identity, given.xmcp, roots)


def check(given: ServerTarget) -> None:
    """Refuse what is not a valid target, and options that do not fit the target.

    Raises:
        TypeError: the target is of a type that cannot be a server, or a function is none of the chat.
        ValueError: an option that does not fit, with its name; or a text that is neither a URL nor a command.
    """
    inner = given.target
    if isinstance(inner, type):
        raise TypeError(
            f"A server target must be an object, not the class {inner.__name__}; pass {inner.__name__}(...)."
        )
    if inner is None or isinstance(inner, bool | int | float | bytes | ModuleType) or type(inner) is object:
        raise TypeError(
            f"{inner!r} is not a valid server target; pass a URL, a command, or an object such as XMCP(...)."
        )
    if isinstance(inner, list | tuple) and not all(isinstance(word, str | os.PathLike) for word in inner):
        raise TypeError(f"A command must be a list of words (strings or paths), not {inner!r}.")
    if isinstance(inner, str) and not _is_url(inner):
        _check_command(inner)
    if isinstance(inner, ServerTarget):
        raise ValueError("The target of a ServerTarget must be a URL, a command or a server, not another ServerTarget.")
    for options, fits, what in (
        (("headers", "auth", "http_client"), _is_url(inner), "URL"),
        (("env", "cwd"), _is_command(inner), "command"),
    ):
        for option in options:
            if getattr(given, option) is not None and not fits:
                raise ValueError(f"{option} is an option for a {what}; {_label(inner)!r} is not a {what}.")
    for option in ("headers", "auth"):
        _check_function(option, getattr(given, option))
    if given.http_client is not None:
        from xmcp import http_clients

        http_clients.check(given.http_client)
    if not _MODE.fullmatch(given.mode):
        raise ValueError(f"mode must be 'auto', 'legacy' or a revision such as '2026-07-28', not {given.mode!r}.")
    seconds = given.connect_timeout
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0):
        raise ValueError(f"connect_timeout must be a number of seconds above 0, not {seconds!r}.")


def _check_function(option: str, value: Any) -> None:
    """Refuse a function that cannot be called with a chat.

    Raises:
        TypeError: it takes no argument, or needs more than one.
    """
    if not callable(value):
        return
    try:
        inspect.signature(value).bind("chat")
    except TypeError:
        raise TypeError(f"{option} is called with (chat), which {value!r} does not accept.") from None
    except ValueError:
        return  # a C function without a signature


def _check_command(text: str) -> None:
    """Refuse a text that was probably not meant as a command.

    Raises:
        ValueError: it looks like an address, or names a script without its interpreter.
    """
    if "://" in text.split(" ")[0] or _HOST_AND_PORT.fullmatch(text):
        raise ValueError(f"{without_secrets(text)!r} is not a URL; write http://host:port or https://host/path.")
    if text.endswith(".py") and " " not in text.strip():
        raise ValueError(
            f"{text!r} is a script, not a command; write the command that runs it, such as 'python {text}'."
        )


def with_default_path(url: str) -> str:
    """Return `url`, with the path `/mcp` if it has no path.

    Raises:
        ValueError: it has no host.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        raise ValueError(f"{without_secrets(url)!r} has no host; write http://host:port or http://host:port/path.")
    return urlunsplit(parts._replace(path="/mcp")) if parts.path in ("", "/") else url


def _is_url(target: Any) -> bool:
    return isinstance(target, str) and _URL.match(target) is not None


def _is_command(target: Any) -> bool:
    return isinstance(target, str | list | tuple) and not _is_url(target)


def _roots(given: Roots | Callable[[], Roots]) -> Callable[[], list[Root]]:
    def roots() -> list[Root]:
        from mcp_types import Root

        now = given() if callable(given) else given
        return [root if isinstance(root, Root) else Root.model_validate({"uri": _uri(root)}) for root in now]

    return roots


def _uri(root: str | Path) -> str:
    return root if isinstance(root, str) and "://" in root else Path(root).absolute().as_uri()


def _label(target: Any) -> str:
    if _is_url(target):
        return without_secrets(target)
    if _is_command(target):
        try:
            argv = shlex.split(target) if isinstance(target, str) else [str(word) for word in target]
        except ValueError:  # a quotation mark without its partner
            argv = str(target).split()[:1]
        # Later words may be keys; the program and its script are enough to recognise the command.
        return without_secrets(" ".join(word for word in argv[:2] if not word.startswith("-") and "=" not in word))
    return str(getattr(target, "name", None) or type(target).__name__)


def _hash(known: Sequence[Any]) -> str:
    try:
        text = json.dumps(known, sort_keys=True, default=_as_text)
    except TypeError:
        return _unique()  # it contains an authentication object or a function, which cannot be compared
    return "server:" + hashlib.sha256(text.encode()).hexdigest()


def _as_text(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise TypeError


def _unique() -> str:
    return f"object:{uuid.uuid4().hex}"


def _http(
    url: str,
    headers: Mapping[str, str] | None,
    http_client: httpx2.AsyncClient | None,
    on_fault: NotificationHandler,
) -> Any:
    from fastmcp.client.transports import infer_transport

    from xmcp.client.servers.fastmcp_internals import http_client_factory, resilient

    transport: Any = infer_transport(url)
    transport.headers = dict(headers or {})
    if http_client is not None:
        transport.httpx_client_factory = http_client_factory(given=http_client)
    return resilient(transport, on_fault)


def _stdio(argv: Sequence[str], env: Mapping[str, str] | None, cwd: str | None, on_fault: NotificationHandler) -> Any:
    from xmcp.client.servers.stdio_transport import BoundedStdioTransport

    env = None if env is None else dict(env)
    return BoundedStdioTransport(argv[0], list(argv[1:]), env=env, cwd=cwd, on_fault=on_fault)


def _client(
    transport: Any,
    on_notification: NotificationHandler,
    given: ServerTarget,
    roots: Callable[[], list[Root]] | None,
    connect_timeout: float,
    sampling: SamplingHandler | None,
) -> fastmcp.Client[Any]:
    import fastmcp
    from mcp.client import advertise

    from xmcp.client.servers.fastmcp_internals import prepared, resilient

    # A client that does not read documents does not announce the extension.
    extensions = [] if given.xmcp is False else [advertise(EXTENSION_ID, {"versions": [VERSION]})]
    if isinstance(transport, fastmcp.Client):
        client = prepared(transport, on_notification, extensions)
        if given.mode != "auto":
            client.mode = given.mode
    else:
        client = fastmcp.Client(
            transport,
            init_timeout=connect_timeout,
            message_handler=on_notification,
            extensions=extensions,
            auth=given.auth,
            mode=given.mode,
            sampling_handler=sampling,
        )
        client.transport = resilient(client.transport, on_notification)
    if roots is not None:
        client.set_roots(lambda _context: list(roots()))
    return client
