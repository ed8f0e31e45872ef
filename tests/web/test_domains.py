import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import SettingError
from harness.quiz import Category
from harness.settings import SearchSettings
from harness.web.domains import (
    BLOCKED,
    TRUSTED,
    blocked_domains,
    host_of,
    in_domains,
    trusted_domains,
    unreadable_kind,
    unsuitable_kind,
)


@pytest.mark.parametrize(
    ("host", "inside"),
    [
        ("wikipedia.org", True),
        ("it.wikipedia.org", True),
        ("IT.M.Wikipedia.org.", True),
        ("notwikipedia.org", False),
        ("wikipedia.org.evil.example", False),
        ("org", False),
        ("", False),
    ],
)
def test_a_domain_covers_whole_labels(host, inside):
    assert in_domains(host, ("wikipedia.org",)) is inside


@given(st.from_regex(r"[a-z]{1,10}", fullmatch=True))
def test_a_longer_last_label_is_another_domain(prefix):
    assert not in_domains(f"{prefix}example.org", ("example.org",))
    assert in_domains(f"{prefix}.example.org", ("example.org",))


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://www.youtube.com/watch?v=1", "video"),
        ("https://m.facebook.com/page", "social"),
        ("https://old.reddit.com/r/quiz", "social"),
        ("https://history.stackexchange.com/q/1", "question-and-answer"),
        ("https://it.quora.com/x", "question-and-answer"),
        ("https://www.netflix.com/", "video"),
        ("https://en.wikipedia.org/wiki/YouTube", None),
        ("https://x.company.example/", None),
        ("https://netx.com/", None),
        ("http://[broken", None),
    ],
)
def test_sites_of_no_use(url, kind):
    assert unsuitable_kind(url, BLOCKED) == kind


def test_settings_add_blocked_domains():
    blocked = blocked_domains(
        SearchSettings(blocked=("*.spam.example", "https://www.ads.example/x"))
    )
    assert unsuitable_kind("http://a.spam.example/", blocked) == "unwanted"
    assert unsuitable_kind("http://ads.example/", blocked) == "unwanted"
    assert unsuitable_kind("http://youtube.com/", blocked) == "video"


def test_every_category_has_trusted_domains_and_none_is_blocked():
    for category in Category:
        domains = trusted_domains(category, SearchSettings())
        assert len(domains) >= 8
        assert len(set(domains)) == len(domains)
        for domain in domains:
            assert domain == domain.lower()
            assert "/" not in domain
            assert unsuitable_kind(f"https://{domain}/", BLOCKED) is None


def test_settings_replace_a_category_by_any_of_its_names():
    settings = SearchSettings(trusted={"Science and Nature": ("nature.com",), "news": ()})
    assert trusted_domains(Category.SCIENCE, settings) == ("nature.com",)
    assert trusted_domains(Category.NEWS, settings) == ()
    assert trusted_domains(Category.HISTORY, settings) == TRUSTED[Category.HISTORY]


def test_a_wrong_category_or_domain_is_named():
    with pytest.raises(SettingError, match=r"search\.trusted.*'sciense'.*science"):
        trusted_domains(Category.NEWS, SearchSettings(trusted={"sciense": ("a.org",)}))
    with pytest.raises(SettingError, match="'not a domain' is no domain"):
        trusted_domains(Category.NEWS, SearchSettings(trusted={"news": ("not a domain",)}))
    with pytest.raises(SettingError, match=r"search\.blocked"):
        blocked_domains(SearchSettings(blocked=("",)))


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://a.org/paper.PDF?x=1#p2", "a PDF file"),
        ("https://a.org/pic%2ejpg", "an image"),
        ("https://a.org/book.epub", "an office document"),
        ("https://a.org/wiki/Node.js", None),
        ("https://a.org/v1.2/page", None),
        ("https://a.org/", None),
        ("https://a.org/pdf", None),
        ("http://[broken", None),
    ],
)
def test_files_that_hold_no_page(url, kind):
    assert unreadable_kind(url) == kind


def test_hosts_are_compared_in_one_form():
    assert host_of("HTTPS://WWW.Example.ORG.:443/x") == "www.example.org"
    assert host_of("mailto:x@y.org") == ""
