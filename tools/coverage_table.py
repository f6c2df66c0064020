"""The files whose branch coverage is below what the whole package must have: `make coverage`.

coverage run -m pytest; coverage combine; python -m tools.coverage_table
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import coverage


def table(report: dict[str, Any], least: float) -> str:
    """One line per file below `least`, the worst first, and the total.

    >>> worst = {"percent_covered": 50.0, "missing_lines": 3, "missing_branches": 1}
    >>> report = {"files": {"a.py": {"summary": worst}}, "totals": {**worst, "percent_covered": 96.04}}
    >>> print(table(report, 95))
      50.0 %  a.py: 3 lines and 1 branches not run
      96.0 %  all files; 1 of 1 are below 95 %
    """
    files = {name: file["summary"] for name, file in report["files"].items()}
    low = sorted((s["percent_covered"], name) for name, s in files.items() if s["percent_covered"] < least)
    lines = []
    for share, name in low:
        missing = f"{files[name]['missing_lines']} lines and {files[name]['missing_branches']} branches"
        lines.append(f"{share:6.1f} %  {name}: {missing} not run")
    total = report["totals"]["percent_covered"]
    return "\n".join([*lines, f"{total:6.1f} %  all files; {len(low)} of {len(files)} are below {least:g} %"])


def main() -> int:
    measured = coverage.Coverage()
    measured.load()
    least = float(measured.get_option("report:fail_under") or 0)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.json")
        measured.json_report(outfile=str(path))
        report = json.loads(path.read_text())
    print(table(report, least))
    return 0 if report["totals"]["percent_covered"] >= least else 1


if __name__ == "__main__":
    sys.exit(main())
