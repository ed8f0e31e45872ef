"""What is wrong with settings that each fit on their own, told before anything begins."""

from __future__ import annotations

from harness.quiz import Category
from harness.settings import Settings
from harness.web.domains import blocked_domains, trusted_domains
from harness.web.searxng import search_address

__all__ = ["check_settings"]


def check_settings(settings: Settings) -> None:
    """Raise for settings that would fail only once a question is researched.

    The settings themselves know neither categories nor addresses.  Raises
    :class:`~harness.errors.SettingError` for an address of the search server
    that is none, and for a category or a domain in ``search.trusted`` or
    ``search.blocked`` that is none.
    """
    search = settings.search
    search_address(search.url)
    blocked_domains(search)
    for name, domains in search.trusted.items():
        # One at a time: each category reads only its own entry.
        alone = search.model_copy(update={"trusted": {name: domains}})
        for category in Category:
            trusted_domains(category, alone)
