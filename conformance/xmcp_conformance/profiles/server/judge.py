"""Judge what a server lists and how it answers a call: which checks run, and in which order.

The checks are pure functions, one subject a module in `checks`. What concerns a document alone, the reader judges.
"""

from __future__ import annotations

from xmcp_conformance.core.checks import Observations
from xmcp_conformance.reader import Document, read

from .catalogue import Catalogue
from .checks import (
    announcement,
    declared_limit,
    dependencies,
    display_view,
    displays,
    documents,
    errors,
    input_validation,
    mcp_results,
    plain_results,
    server_parameters,
    tool_metadata,
)
from .checks.required_form import RequiredForm, answer_form
from .clients import LEAST
from .exchange import Exchange, Twin


def catalogue_observations(catalogue: Catalogue, *, declared: bool = True, known: bool = True) -> Observations:
    """Yield what all checks of a catalogue observe.

    Args:
        catalogue: what the server announced and listed, to a client that did not announce MCP Apps.
        declared: whether the client that got it declared the extension, so that the server can know.
        known: whether the server has to know what the client declared.
    """
    yield from announcement.extension_entry(catalogue)
    for tool in catalogue.tools:
        yield from tool_metadata.metadata_schema(tool)
        yield from displays.show_user_parameter(tool)
        yield from server_parameters.left_out_of_input_schema(tool)
        yield from tool_metadata.cacheable_tool(tool)
        if declared:
            yield from tool_metadata.wrapped_value(tool)
        if known:
            yield from display_view.named_unasked(tool)
    yield from dependencies.dependencies(catalogue.tools)


def exchange_observations(
    exchange: Exchange,
    announced: list[str] | None = None,
    form: RequiredForm = RequiredForm.DOCUMENT,
    *,
    declared: bool = True,
) -> Observations:
    """Yield what all checks of one call observe, and set `exchange.reading`.

    Args:
        exchange: the call and how it ended.
        announced: the versions that the server says it emits, where it says so.
        form: the form that the answer must have. The content is judged only where the form is right.
        declared: whether the client declared the extension.
    """
    if exchange.malformed:
        yield from mcp_results.malformed_result(exchange, form)
        return
    if exchange.result is None:
        yield from errors.valid_call_without_result(exchange)
        yield from input_validation.invalid_call_without_result(exchange)
        return
    # Where a plain result is required, a document in the text is the suite's own text, or breaks XMCP-MCP-023.
    is_document = form is RequiredForm.DOCUMENT or (
        form is not RequiredForm.PLAIN and plain_results.begins_a_document(exchange.text)
    )
    of_form = list(answer_form(exchange, form, is_document))
    yield from of_form
    yield from tool_metadata.wrapped_data(exchange)
    if all(observation.ok for observation in of_form):
        yield from _of_document(exchange, announced) if is_document else _of_plain_result(exchange, announced)
        if not declared:
            yield from _for_a_client_that_declared_nothing(exchange)


def limited_observations(exchange: Exchange, form: RequiredForm, before: Twin) -> Observations:
    """Yield what is observed of an answer to a client that declared the smallest `maxBytes`, and set its `reading`.

    Args:
        exchange: the call and how it ended.
        form: the form that the answer must have.
        before: the answer to the same call without that declaration, which was larger.
    """
    if exchange.result is None:
        yield from errors.valid_call_without_result(exchange)
        return
    is_document = plain_results.begins_a_document(exchange.text)
    yield from answer_form(exchange, form, is_document)
    if not is_document:
        if form is RequiredForm.DOCUMENT:
            yield from documents.document_text(exchange)
        return
    yield from declared_limit.document_size(exchange)
    if exchange.size > LEAST or exchange.text is None:
        return
    exchange.reading = read(exchange.text)
    yield from exchange.reading.observations
    document = exchange.reading.document
    if document is not None:
        yield from mcp_results.result_of_document(exchange, document)
        yield from documents.tool_name(exchange.call, document)
        yield from declared_limit.answer_that_fits(document, before)
        yield from declared_limit.data_of_what_is_too_large(exchange, document, before)
        if document.error is not None:
            yield from errors.error_of_call(document.error)


def _of_document(exchange: Exchange, announced: list[str] | None) -> Observations:
    readable = list(documents.document_text(exchange))
    yield from readable
    if not all(observation.ok for observation in readable) or exchange.text is None:
        return
    exchange.reading = read(exchange.text)
    yield from exchange.reading.observations
    document = exchange.reading.document
    if document is not None:
        if announced is not None:
            yield from announcement.document_version(document, announced)
        yield from mcp_results.result_of_document(exchange, document)
        yield from _of_content(exchange, document)
        yield from documents.replaced_code_points(exchange, document)
        yield from server_parameters.named_in_document(exchange, document)
        yield from server_parameters.forged_arguments(exchange, document)


def _of_plain_result(exchange: Exchange, announced: list[str] | None) -> Observations:
    exchange.reading = plain_results.read(exchange, announced)
    yield from exchange.reading.observations
    document = exchange.reading.document
    if document is not None:
        yield from _of_content(exchange, document)
        yield from server_parameters.named_in_plain_result(exchange, document)
        yield from server_parameters.forged_arguments(exchange, document)


def _for_a_client_that_declared_nothing(exchange: Exchange) -> Observations:
    yield from mcp_results.unlisted_data(exchange)
    document = exchange.reading.document
    if document is not None:
        yield from displays.truth_about_displays(exchange, document.llm_output or "", document)


def _of_content(exchange: Exchange, document: Document) -> Observations:
    """Yield what the content of the answer shows, in whichever form it came."""
    call = exchange.call
    yield from documents.tool_name(call, document)
    yield from displays.display_presence(call, document)
    yield from displays.show_user_without_value(call, document)
    if document.error is not None:
        yield from errors.error_of_call(document.error)
        if not exchange.is_busy:
            yield from input_validation.error_of_invalid_call(call, document.error)
    else:
        yield from input_validation.success_of_invalid_call(call)
