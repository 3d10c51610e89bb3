"""A listener that several processes share: none takes all that come at once."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections import Counter
from functools import partial
from typing import Any

import pytest
import uvloop
from support.worker_processes import until

from xmcp.gateway.workers import shared_listener
from xmcp.gateway.workers.connection_counts import ConnectionCounts
from xmcp.gateway.workers.place import WorkerPlace
from xmcp.gateway.workers.shared_listener import SharedListener
from xmcp.gateway.workers.sockets import sockets_folder
from xmcp.http_listening import CannotListen, begin, listen


def alike(begun: int) -> bool:
    """Say that no other process has fewer connections."""
    return False


def passing(begun: int) -> bool:
    """Say that another process has fewer connections."""
    return True


class Noting(asyncio.Protocol):
    """Notes that a worker got a connection."""

    def __init__(self, connections: Counter[str], worker: str) -> None:
        self._connections = connections
        self._worker = worker

    def connection_made(self, transport: Any) -> None:
        self._connections[self._worker] += 1
        if sock := transport.get_extra_info("socket"):
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        transport.close()


def listening() -> socket.socket:
    """Return a socket that listens on a free port."""
    listener = listen("127.0.0.1", 0)
    begin(listener, 100)
    return listener


async def burst() -> Counter[str]:
    """Open 40 connections before two workers look; return how many each has got."""
    connections: Counter[str] = Counter()
    listener = listening()
    address = listener.getsockname()
    clients = [socket.create_connection(address) for _ in range(40)]
    workers = {"a": listener, "b": listener.dup()}
    servers = [SharedListener(one, partial(Noting, connections, name), alike) for name, one in workers.items()]
    await until(lambda: connections.total() == 40)
    for server in servers:
        server.close()
        server.close()  # as uvicorn does
    for client in clients:
        client.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
    return connections


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_connections_that_come_at_once_are_shared(run: Any) -> None:
    assert run(burst()) == {"a": 20, "b": 20}


def test_who_has_the_fewest_connections_is_known_to_all() -> None:
    with sockets_folder(3) as folder:
        of_each = [ConnectionCounts(WorkerPlace(number, 3, folder)) for number in range(3)]
        assert [counts.is_more_than_least(own) for counts, own in zip(of_each, (5, 7, 9), strict=True)] == [True] * 3
        assert not of_each[0].is_more_than_least(5)
        assert of_each[1].is_more_than_least(7)
        again = ConnectionCounts(WorkerPlace(1, 3, folder))  # of a process that was started again
        assert not again.is_more_than_least(0)
        assert of_each[0].is_more_than_least(5)


async def test_who_has_more_lets_others_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_listener, "PASS_SECONDS", 1000.0)
    connections: Counter[str] = Counter()
    listener = listening()
    address = listener.getsockname()
    most = SharedListener(listener.dup(), partial(Noting, connections, "most"), passing)
    least = SharedListener(listener, partial(Noting, connections, "least"), alike)
    clients = [socket.create_connection(address) for _ in range(10)]
    await until(lambda: connections.total() == 10)
    assert connections == {"least": 10}
    least.close()
    most.close()
    await most.wait_closed()
    for client in clients:
        client.close()


async def test_what_nobody_takes_is_taken_and_the_next_need_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_listener, "PASS_SECONDS", 0.01)
    monkeypatch.setattr(shared_listener, "NO_PASS_SECONDS", 1000.0)
    connections: Counter[str] = Counter()
    most = SharedListener(listening(), partial(Noting, connections, "most"), passing)
    address = most.sockets[0].getsockname()
    with socket.create_connection(address):
        await until(lambda: connections.total() == 1)
    monkeypatch.setattr(shared_listener, "PASS_SECONDS", 1000.0)
    with socket.create_connection(address), socket.create_connection(address):
        await until(lambda: connections.total() == 3)
    most.close()


async def test_a_listener_can_be_closed_while_a_connection_waits_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_listener, "PASS_SECONDS", 0.5)
    connections: Counter[str] = Counter()
    looked: list[int] = []

    def noting(begun: int) -> bool:
        looked.append(begun)
        asyncio.get_running_loop().call_soon(server.close)
        return True

    server = SharedListener(listening(), partial(Noting, connections, "a"), noting)
    with socket.create_connection(server.sockets[0].getsockname()):
        await until(lambda: looked)
        await asyncio.sleep(1)
    assert not connections


class Full(socket.socket):
    """A listener of a process that may have no more files open, the first times."""

    refusals = 2

    def accept(self) -> Any:
        if self.refusals:
            self.refusals -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


async def test_a_process_without_room_for_another_file_says_so_and_goes_on_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shared_listener, "RETRY_SECONDS", 0.01)
    connections: Counter[str] = Counter()
    with listening() as bound:
        listener = Full(bound.family, bound.type, bound.proto, fileno=bound.detach())
    server = SharedListener(listener, partial(Noting, connections, "a"), alike)
    with socket.create_connection(listener.getsockname()):
        await until(lambda: connections["a"])
    server.close()
    refused = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert refused == ["no connection can be accepted: Too many open files"] * 2


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_a_socket_that_does_not_listen_yet_is_waited_for(run: Any) -> None:
    async def taken() -> Counter[str]:
        connections: Counter[str] = Counter()
        listener = listen("127.0.0.1", 0)
        begun, closed = listener.dup(), listener.dup()
        server = SharedListener(begun, partial(Noting, connections, "a"), alike)
        SharedListener(closed, partial(Noting, connections, "b"), alike).close()
        await asyncio.sleep(3 * shared_listener.LISTENS_SECONDS)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(listener.getsockname())
        begin(listener, 100)
        with socket.create_connection(listener.getsockname()):
            await until(lambda: connections.total() == 1)
        server.close()
        listener.close()
        return connections

    assert run(taken()) == {"a": 1}


def test_a_port_that_another_program_took_meanwhile_is_said() -> None:
    with listen("127.0.0.1", 0) as mine, listen("127.0.0.1", mine.getsockname()[1]) as other:
        begin(other, 100)
        with pytest.raises(CannotListen, match="is in use"):
            begin(mine, 100)
