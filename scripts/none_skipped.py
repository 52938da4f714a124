"""Fail unless every report (JUnit XML) holds tests, and none of them was skipped: none_skipped.py REPORT..."""

import sys
from xml.etree import ElementTree as ET


def main(reports: list[str]) -> int:
    """Read the reports; the exit status."""
    status = 0
    for report in reports:
        cases = list(ET.parse(report).iter("testcase"))  # noqa: S314 - we wrote it
        skipped = [case for case in cases if case.find("skipped") is not None]
        for case in skipped:
            print(f"{report}: {case.get('classname')}.{case.get('name')} was skipped")
        print(f"{report}: {len(cases)} tests, {len(skipped)} skipped")
        if skipped or not cases:
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
