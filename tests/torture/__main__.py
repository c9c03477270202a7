"""The torture: python -m tests.torture [PART …] [--share S] [--folder DIR]."""

import sys

from tests.torture.program import main

sys.exit(main())
