"""Write docs/configuration.md anew from the schema and conf/."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Write the page; tests/command_line/test_documentation.py fails while it is out of date."""
    from seq2seq.command_line.documentation import configuration_page  # noqa: PLC0415 - after --help

    page = ROOT / "docs" / "configuration.md"
    page.write_text(configuration_page(ROOT / "conf"), encoding="utf-8")
    print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
