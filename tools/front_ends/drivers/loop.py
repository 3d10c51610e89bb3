"""What all drivers in Python do: read what is asked as lines of JSON, chat, and write what the client made of it.

`{"questions": […], "url": …, "key": …, "model": …, "stream": …, "does": "own tools" | "structured" | ""}` is one line;
the answer to it is a list with an object for each question: `text`, `calls` (of tools, that the client was left with),
`usage`, `ran` (tools of its own), and `error` with `type`, `status` and `text`.
"""

import asyncio
import json
import os
import sys

OWN_TOOL_SAYS = "noon"


async def _told(chat, asked, question):
    told = {"text": "", "calls": [], "usage": None, "ran": [], "error": None}
    try:
        await chat(asked, question, told)
    except Exception as error:
        told["error"] = {"type": type(error).__name__, "status": _status(error), "text": str(error)}
    return told


def _status(error):
    """Return the HTTP status that an exception, or one below it, has."""
    while error is not None:
        status = getattr(error, "status_code", None)
        if isinstance(status, int):
            return status
        error = error.__cause__ or error.__context__
    return None


async def _all(chat, asked):
    return await asyncio.gather(*(_told(chat, asked, question) for question in asked["questions"]))


def serve(chat):
    """Answer each line of standard input with `chat(asked, question, told)`, which fills in `told`."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    with asyncio.Runner() as runner:  # one loop: some clients keep connections that belong to it
        for line in sys.stdin:
            print(json.dumps(runner.run(_all(chat, json.loads(line)))), file=answers, flush=True)
