"""Write `generated/` from `schemas/` and the requirement registry, the examples into the pages that show them, and the
tables of the web view.

    python -m tools.generate          write all three
    python -m tools.generate --check  exit 1, with a diff, if one differs from what is committed

Only code generators write to `generated/`: datamodel-code-generator and json-schema-to-typescript for the JSON
Schemas, xsdata for the XSD, and this package for the registries (as tables), the copies of schemas that programs
read at run time, and the packed vectors.
"""

from __future__ import annotations

import argparse

from tools.generate import embedded_examples, generated_folder, web_tables


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.generate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 if it differs")
    check = parser.parse_args().check
    embedded_examples.update(check=check)
    generated_folder.update(check=check)
    web_tables.update(check=check)


if __name__ == "__main__":
    main()
