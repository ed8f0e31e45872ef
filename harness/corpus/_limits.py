"""Bounds on what is read from a corpus: a shared one is somebody else's file."""

from __future__ import annotations

from typing import Final

MAX_BODY_BYTES: Final = 64 * 2**20
"""Bytes of one body, decoded; a policy that allows more is cut here."""

MAX_STORED_BYTES: Final = MAX_BODY_BYTES + 2**20
"""Bytes of one stored value; zstd adds little to what it can't compress."""

MAX_MANIFEST_BYTES: Final = 2**20

MAX_HEADER_BYTES: Final = 256 * 2**10
"""Bytes of the header of one WARC record."""

MAX_RECORD_BYTES: Final = MAX_BODY_BYTES + 2**20
"""Bytes of one WARC record, unpacked."""

MAX_RECORDS: Final = 1_000_000
"""Records read from one WARC file."""

MAX_RATIO: Final = 200
"""Unpacked bytes per packed byte of a WARC record larger than ``RATIO_FREE_BYTES``."""

RATIO_FREE_BYTES: Final = 8 * 2**20

MAX_PROBLEMS: Final = 1_000
"""Damaged places after which a WARC file is given up."""
