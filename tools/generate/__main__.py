"""Write `generated/` from `schemas/` and the requirement registry.

    python -m tools.generate          write it
    python -m tools.generate --check  exit 1, with a diff, if it differs from what is committed

Only code generators write there: datamodel-code-generator and json-schema-to-typescript for the JSON Schemas, xsdata
for the XSD, and this package for the registries (as tables), the copies of schemas that programs read at run time, and
the packed vectors.
"""

from __future__ import annotations

import argparse

from tools.generate import generated_folder


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.generate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 if it differs")
    generated_folder.update(check=parser.parse_args().check)


if __name__ == "__main__":
    main()
