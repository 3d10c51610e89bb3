"""The routes of administrators: tenants, keys, and who changed them. They are there if keys are in a database."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema
from starlette.requests import Request
from starlette.responses import Response

from xmcp.gateway.access import key_store
from xmcp.gateway.access.database_thread import DatabaseDown
from xmcp.gateway.access.issued_keys import Pepper, is_key_id
from xmcp.gateway.access.key_store import Actor, Terms
from xmcp.gateway.config import NAME_PATTERN, NAME_RULE, is_name
from xmcp.gateway.grants import NO_LIMITS, Limits
from xmcp.gateway.http.bodies import json_object, read_body
from xmcp.gateway.http.chats import caller_of, gateway_of
from xmcp.gateway.http.refusals import Refused, json_response, wait_headers
from xmcp.gateway.http.worker_routes import forget_keys
from xmcp.gateway.ids import now_ms

if TYPE_CHECKING:
    from xmcp.gateway.audit.drivers import Execute

T = TypeVar("T")
B = TypeVar("B", bound=BaseModel)

MAX_BODY_BYTES: Final = 1024 * 1024
MAX_CURSOR: Final = 128
_DAY_MS: Final = 86_400_000


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _as_name(value: str) -> str:
    if not is_name(value):
        raise ValueError(NAME_RULE)
    return value


NAME_SCHEMA: Final = {"type": "string", "pattern": f"^{NAME_PATTERN}$"}
Name = Annotated[str, AfterValidator(_as_name), WithJsonSchema(NAME_SCHEMA)]


class TenantBody(_Body):
    """`POST /admin/tenants`."""

    name: Name
    limits: Limits = NO_LIMITS


class KeyBody(Terms):
    """`POST /admin/keys`."""

    tenant: Name
    name: Name
    expires_in_days: float | None = Field(None, gt=0, le=36_500, allow_inf_nan=False)


class LimitsBody(_Body):
    """`PATCH /admin/keys/{id}`."""

    limits: Limits


async def list_tenants(request: Request) -> Response:
    """`GET /admin/tenants`: by name, a page at a time."""
    after, limit = _page(request)
    tenants = await _run(request, lambda run: key_store.list_tenants(run, after, limit))
    following = tenants[-1]["name"] if len(tenants) == limit else None
    return json_response({"tenants": tenants, "next": following})


async def put_tenant(request: Request) -> Response:
    """`POST /admin/tenants`: add a tenant, or set the limits of one."""
    body = await _body(request, TenantBody)
    by = _actor(request)
    try:
        new = await _run(request, lambda run: key_store.put_tenant(run, by, body.name, body.limits))
    except key_store.TenantDeleted:
        told = "A tenant of this name was deleted, and what it had is kept under the name. Choose another one."
        raise Refused(409, told, "tenant_deleted", "name") from None
    await forget_keys(request, tenant=body.name)
    answer = {"name": body.name, "limits": key_store.limits_to_dict(body.limits)}
    return json_response(answer, 201 if new else 200)


async def delete_tenant(request: Request) -> Response:
    """`DELETE /admin/tenants/{name}`: delete a tenant and revoke its keys, for good."""
    name, by = request.path_params["name"], _actor(request)
    if not is_name(name) or not await _run(request, lambda run: key_store.delete_tenant(run, by, name)):
        raise Refused(404, "There is no such tenant.", "tenant_not_found")
    await forget_keys(request, tenant=name)
    return Response(status_code=204)


async def list_keys(request: Request) -> Response:
    """`GET /admin/keys`: of all tenants, or of `?tenant=`, by id, a page at a time. Never the keys themselves."""
    after, limit = _page(request)
    tenant = request.query_params.get("tenant")
    if tenant is not None and not is_name(tenant):
        raise Refused(400, f"tenant {NAME_RULE}.", "invalid_value", "tenant")
    keys = await _run(request, lambda run: key_store.list_keys(run, tenant, after, limit))
    following = keys[-1].id if len(keys) == limit else None
    return json_response({"keys": [key.to_dict() for key in keys], "next": following})


async def add_key(request: Request) -> Response:
    """`POST /admin/keys`: make a key. The answer is the only place where it ever stands."""
    body, pepper, by = await _body(request, KeyBody), _pepper(request), _actor(request)
    key = pepper.new_key()
    issued = pepper.issued(key)
    if issued is None:
        raise RuntimeError("a new key is not recognised")
    expires = None if body.expires_in_days is None else now_ms() + round(body.expires_in_days * _DAY_MS)
    terms = Terms(**{name: getattr(body, name) for name in Terms.model_fields})
    try:
        stored = await _run(
            request,
            lambda run: key_store.add_key(
                run, by, issued, tenant=body.tenant, name=body.name, terms=terms, expires_at=expires
            ),
        )
    except key_store.NoSuchTenant:
        told = "There is no such tenant. POST /admin/tenants adds it."
        raise Refused(404, told, "tenant_not_found", "tenant") from None
    except key_store.TooManyKeys:
        told = f"The tenant has {key_store.KEYS_OF_A_TENANT:,} keys, and cannot have more. Revoke some."
        raise Refused(409, told, "too_many_keys") from None
    # Nothing between here and the caller may keep it.
    return json_response({"key": key, **stored.to_dict()}, 201, {"cache-control": "no-store"})


async def set_key_limits(request: Request) -> Response:
    """`PATCH /admin/keys/{id}`: set the limits of a key."""
    body, key_id, by = await _body(request, LimitsBody), request.path_params["key_id"], _actor(request)
    limited = partial(key_store.set_key_limits, by=by, key_id=key_id, limits=body.limits)
    stored = await _run(request, limited) if is_key_id(key_id) else None
    if stored is None:
        raise _no_key()
    await forget_keys(request, key_id=key_id)
    return json_response(stored.to_dict())


async def revoke_key(request: Request) -> Response:
    """`DELETE /admin/keys/{id}`: revoke a key. Its chats go on; other gateways refuse it within 30 s."""
    key_id, by = request.path_params["key_id"], _actor(request)
    if not is_key_id(key_id) or not await _run(request, lambda run: key_store.revoke_key(run, by, key_id)):
        raise _no_key()
    await forget_keys(request, key_id=key_id)
    return Response(status_code=204)


async def list_changes(request: Request) -> Response:
    """`GET /admin/audit`: who changed what, and when, a page at a time."""
    after, limit = _page(request)
    changes = await _run(request, lambda run: key_store.list_changes(run, after, limit))
    following = changes[-1]["id"] if len(changes) == limit else None
    return json_response({"changes": changes, "next": following})


async def _run(request: Request, work: Callable[[Execute], T]) -> T:
    _pepper(request)
    try:
        return await gateway_of(request).access.administer(work)
    except DatabaseDown as error:
        told = "The database does not answer. What was asked may have been done, or not: list it, then try again."
        raise Refused(503, told, "database_unavailable", headers=wait_headers(error.retry_after)) from None


def _pepper(request: Request) -> Pepper:
    pepper = gateway_of(request).access.pepper
    if pepper is None:
        told = "This gateway has no database of keys: its keys stand in its file. Set database in [access]."
        raise Refused(404, told, "no_key_database")
    return pepper


def _actor(request: Request) -> Actor:
    return Actor(caller_of(request).key_name)


def _no_key() -> Refused:
    return Refused(404, "There is no such key, or it is revoked.", "key_not_found")


def _page(request: Request) -> tuple[str, int]:
    after, limit = request.query_params.get("after", ""), request.query_params.get("limit", str(key_store.PAGE))
    if len(after) > MAX_CURSOR or "\0" in after:
        raise Refused(400, "after must be the `next` of the page before.", "invalid_value", "after")
    if not (limit.isascii() and limit.isdecimal() and len(limit) < 5 and 1 <= int(limit) <= key_store.PAGE):
        raise Refused(400, f"limit must be a number from 1 to {key_store.PAGE}.", "invalid_value", "limit")
    return after, int(limit)


async def _body(request: Request, kind: type[B]) -> B:
    seconds = gateway_of(request).config.listen.body_seconds
    value = await json_object(await read_body(request, MAX_BODY_BYTES, seconds))
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part)[:64] for part in first["loc"][:4])
        message = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        raise Refused(400, f"{place}: {message}.", "invalid_value", place) from None
