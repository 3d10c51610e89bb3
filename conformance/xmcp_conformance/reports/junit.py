"""A report as JUnit XML, which CI systems read: a test case for each requirement, and one for the verdict."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from xmcp_conformance.core.judge import Judgement, Status

from .summary import Summary, place, where


def to_junit(summary: Summary) -> str:
    """Return the XML. It has failures exactly where the command ends with another exit code than 0.

    A fault that does not count, of a SHOULD or of the baseline, is a passed case whose output says so. A requirement
    that was not judged is skipped.
    """
    cases = [*(_case(one, summary) for one in summary.judgements), _verdict(summary)]
    failures, skipped = (sum(one.find(name) is not None for one in cases) for name in ("failure", "skipped"))
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0", "skipped": str(skipped)}
    root = ElementTree.Element("testsuites", {"name": "xmcp check", **counts})
    name = f"XMCP {summary.specification}: {summary.judged}"
    suite = ElementTree.SubElement(root, "testsuite", {"name": name, **counts})
    properties = ElementTree.SubElement(suite, "properties")
    for word, version in (("specification", summary.specification), ("suite", summary.suite)):
        ElementTree.SubElement(properties, "property", {"name": word, "value": version})
    suite.extend(cases)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(judgement: Judgement, summary: Summary) -> ElementTree.Element:
    requirement, first = judgement.requirement, judgement.first
    name = f"{requirement.id} {requirement.quote}"
    case = ElementTree.Element("testcase", {"classname": f"xmcp.section {requirement.section}", "name": name})
    if judgement.status is Status.NOT_OBSERVED:
        why = summary.not_judged.get(requirement.id)
        message = f"not judged: {why}" if why else "not judged: nothing in this run gave occasion"
        ElementTree.SubElement(case, "skipped", {"message": message})
    elif first is not None:
        seen = f"seen {first.observation.seen}, expected {first.observation.expected}"
        times = f"{judgement.broken} of {judgement.occasions} times, first in {place(first)}"
        if others := [where(one) for one in judgement.faults[1:]]:
            times += f"; also in {', '.join(others)}"
        if judgement.status is Status.FAIL:
            failure = ElementTree.SubElement(case, "failure", {"type": requirement.level, "message": seen})
            failure.text = f"{seen}\n{times}"
        else:
            counts = f" (a warning: {judgement.only_warns})" if judgement.only_warns else ""
            ElementTree.SubElement(case, "system-out").text = f"{requirement.level} is broken{counts}: {seen}\n{times}"
    return case


def _verdict(summary: Summary) -> ElementTree.Element:
    case = ElementTree.Element("testcase", {"classname": "xmcp", "name": "verdict"})
    if summary.exit_code:
        why = "; ".join(summary.why) or "a requirement is broken"
        ElementTree.SubElement(case, "failure", {"type": "verdict", "message": f"{summary.verdict}: {why}"})
    if summary.notes:
        ElementTree.SubElement(case, "system-out").text = "\n".join(summary.notes)
    return case
