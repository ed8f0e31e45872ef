"""The page in a real browser, headless: by keyboard, by mouse, on a phone, in the dark."""

import os
import shutil
import tempfile
import time

import httpx
import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from harness.games.practice import PracticeServer, ServerOptions
from harness.quiz import Category, Gold, Option, Question

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""
DRIVER = shutil.which("chromedriver") or ""
_REQUIRED = os.environ.get("HOTSEAT_REQUIRE_BROWSER", "") not in ("", "0")
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
)
HOSTILE = '<img src=x onerror="document.title=`owned`"><script>document.title="owned"</script>'

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER) and not _REQUIRED,
    reason="needs chromium and chromedriver (Debian: apt-get install chromium chromium-driver)",
)


def make_questions():
    return [
        Question(
            f"{category.value}-{number}",
            category,
            f"What grows at place {number} of {category.value}? {HOSTILE}",
            tuple(
                Option(place, f"{name} {number}")
                for place, name in enumerate(("alder", "birch", "rowan", f"<b>elm</b> {HOSTILE}"))
            ),
            Gold(f"rowan {number}"),
        )
        for category in (Category.SCIENCE, Category.NEWS)
        for number in range(3)
    ]


@pytest.fixture
def server(tmp_path, voice):
    with PracticeServer(
        make_questions(),
        database=tmp_path / "games.sqlite",
        options=ServerOptions(scrypt_cost=2, seed=1),
        synthesiser=voice,
    ) as running:
        yield running


@pytest.fixture(scope="module")
def chromium():
    """One browser for all tests; each gets it without cookies."""
    if not (CHROMIUM and DRIVER):
        pytest.fail("HOTSEAT_REQUIRE_BROWSER is set, and there is no chromium with chromedriver")
    folder = tempfile.mkdtemp(prefix="hotseat-browser-")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*_FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()
    shutil.rmtree(folder, ignore_errors=True)


class Page:
    """What a person can do."""

    def __init__(self, driver, server):
        self.driver = driver
        self.server = server
        # The page draws anew while it is looked at: what is gone is looked up again.
        passing = (StaleElementReferenceException, IndexError)
        self.wait = WebDriverWait(driver, 15, poll_frequency=0.05, ignored_exceptions=passing)

    def find(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def until(self, condition):
        return self.wait.until(lambda _: condition())

    def press(self, *keys):
        self.driver.switch_to.active_element.send_keys(*keys)

    def script(self, text, *values):
        return self.driver.execute_script(text, *values)

    def open(self):
        self.driver.get(self.server.url)
        self.until(lambda: self.find("#name") or self.find("form") or self.find(".option"))

    def log_in(self, name="ada"):
        self.open()
        self.until(lambda: self.find("#name"))
        self.press(name, Keys.TAB, "secret", Keys.ENTER)
        self.until(lambda: "Choose a game" in self.driver.title)

    def start(self, mode="text"):
        """Choose by keyboard alone: Science is the first competition, Enter starts."""
        self.script(
            "document.querySelector('[name=mode][value=' + arguments[0] + ']').focus()", mode
        )
        self.press(Keys.SPACE)
        self.press(Keys.ENTER)
        self.until(lambda: self.find(".option"))

    def asked(self):
        return self.script("return document.getElementById('asked')?.innerText ?? ''")

    def right_key(self):
        found = "[...document.querySelectorAll('.option span')].map((one) => one.innerText)"
        texts = self.script(f"return {found}")
        (place,) = (at for at, text in enumerate(texts) if text.startswith("rowan"))
        return "abcd"[place]

    def problems(self):
        """Return what the browser complained about, but for nobody being logged in at first."""
        log = self.driver.get_log("browser")
        return [one["message"] for one in log if "/api/auth/me" not in one["message"]]


@pytest.fixture
def page(chromium, server):
    chromium.execute_cdp_cmd("Network.clearBrowserCookies", {})
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page = Page(chromium, server)
    yield page
    chromium.get("about:blank")
    assert page.problems() == []


def test_a_game_is_played_to_its_end_by_keyboard(page):
    page.log_in()
    page.start()
    for level in (1, 2, 3):
        before = page.asked()
        assert f"level {level} of 3" in page.find(".card p")[0].text
        page.press(page.right_key())
        if level < 3:
            page.until(lambda before=before: page.asked() not in ("", before))
            assert page.find(".verdict.right")[0].text.startswith("Right: ")
    page.until(lambda: "Game over" in page.driver.title)
    assert page.find("h1")[0].text == "You answered everything right!"
    assert page.find(".verdict")[0].text == "Level 3 of 3, 300."
    assert page.driver.switch_to.active_element.text == "You answered everything right!"
    assert "everything right" in page.find("#status")[0].get_attribute("textContent")


def test_a_wrong_answer_by_mouse_and_the_leaderboard(page):
    page.log_in("bea")
    page.start()
    before = page.asked()
    page.press(page.right_key())
    page.until(lambda: page.asked() not in ("", before))
    wrong = next(one for one in page.find(".option") if "birch" in one.text)
    wrong.click()
    page.until(lambda: "Game over" in page.driver.title)
    assert page.find("h1")[0].text == "That was wrong."
    assert "birch" in page.find(".card p")[0].text
    page.driver.find_element(By.XPATH, "//button[.='Play again']").click()
    page.until(lambda: page.find("tr.mine"))
    assert [cell.text for cell in page.find("tr.mine td")] == ["1", "bea", "1", "100"]


def test_hostile_texts_are_only_texts(page):
    page.log_in()
    page.start()
    assert HOSTILE in page.asked()
    assert "<b>elm</b>" in " ".join(one.text for one in page.find(".option"))
    assert page.find("main img, main script, main b") == []
    assert "owned" not in page.driver.title


def test_a_spoken_game_starts_its_clock_with_the_last_option(page):
    page.log_in()
    page.start("speech")
    assert page.find(".clock strong")[0].text == "–"
    page.driver.find_element(By.XPATH, "//button[.='Hear the question']").click()
    page.press("a")  # not yet
    for letter in "ABCD":
        page.until(
            lambda letter=letter: page.driver.find_elements(
                By.XPATH, f"//button[.='Hear option {letter}' and not(@disabled)]"
            )
        )[0].click()
    page.until(lambda: page.find(".clock strong")[0].text.endswith(" s"))
    spoken = page.server.service.clips.synthesiser.spoken[-4:]
    assert [text[:9] for text in spoken] == [f"Option {letter}." for letter in "ABCD"]
    place = next(at for at, text in enumerate(spoken) if "rowan" in text)
    page.find(".option")[place].click()
    page.until(lambda: "level 2 of 3" in page.find(".card p")[0].text)


def test_a_reload_goes_on_with_the_game(page):
    page.log_in()
    page.start()
    page.press(page.right_key())
    page.until(lambda: "level 2 of 3" in page.find(".card p")[0].text)
    before = page.asked()
    page.driver.refresh()
    page.until(lambda: page.find(".option"))
    assert page.asked() == before


def test_the_time_runs_out(tmp_path, chromium):
    with PracticeServer(
        make_questions(),
        database=tmp_path / "short.sqlite",
        options=ServerOptions(scrypt_cost=2, seed=1, limit_s=1.5),
        synthesiser=None,
    ) as server:
        page = Page(chromium, server)
        page.log_in()
        page.start()
        assert page.find(".clock strong")[0].text in ("1 s", "2 s")
        page.until(lambda: "Game over" in page.driver.title)
        assert page.find("h1")[0].text == "Time is up."
        chromium.get("about:blank")


def an_agents_game(server):
    """Start a game as an agent, tell its stages, and return its client."""
    client = httpx.Client(base_url=server.url)
    client.post("/api/auth/login", json={"username": "agent", "password": "secret"})
    state = client.post("/api/game/start", json={"competitionId": 5, "mode": "text"}).json()
    events = [
        {"kind": "query", "text": f"rowan {HOSTILE}"},
        {"kind": "hits", "titles": ["A page about trees", HOSTILE]},
        {"kind": "passages", "items": [{"source": "https://a.example/", "score": 0.83}]},
        {"kind": "stage", "name": "generate", "seconds": 9.2},
        {"kind": "output", "text": "ANSWER: 2 rowan"},
        {"kind": "answer", "text": "rowan 0", "basis": "retrieved passages"},
    ]
    path = f"/api/hotseat/game/{state['sessionId']}/stages"
    assert client.post(path, json={"level": 1, "events": events}).json() == {"kept": 6}
    return client, state


def test_an_agents_game_is_watched_live(page):
    client, state = an_agents_game(page.server)
    try:
        page.log_in("watcher")
        page.until(lambda: page.driver.find_elements(By.XPATH, "//button[.='Watch agent']"))[
            0
        ].click()
        page.until(lambda: "answers (retrieved passages)" in page.find("main")[0].text)
        text = page.find("main")[0].text
        assert "A page about trees" in text
        assert "https://a.example/ (0.83)" in text
        assert "generate: 9.20 s" in text
        assert HOSTILE in text
        assert page.find("main img, main script") == []
        options = state["question"]["options"]
        right = next(one["id"] for one in options if one["text"].startswith("rowan"))
        client.post(f"/api/game/{state['sessionId']}/answer", json={"optionId": right})
        page.until(lambda: "level 2 of 3" in page.find("main")[0].text)
        assert "Level 1: right" in page.find("aside")[0].text
        assert "A page about trees" not in page.find("main")[0].text
        client.post(f"/api/game/{state['sessionId']}/answer", json={"optionId": 9})
    finally:
        client.close()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_the_screen_and_every_control_has_a_name(page, width, dark):
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 760, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    theme = "dark" if dark else "light"
    page.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": theme}]},
    )
    page.log_in(f"player{width}{theme}")
    check_page(page, width)
    page.start()
    check_page(page, width)
    page.press("1")
    page.until(lambda: page.find(".verdict"))
    check_page(page, width)


def check_page(page, width):
    assert page.script("return document.documentElement.scrollWidth") <= width
    assert page.script(NAMELESS) == []
    assert page.script("return document.querySelectorAll('main, header').length") == 2
    assert page.script("return document.querySelectorAll('h1').length") == 1
    assert page.script(FAINT) == []


NAMELESS = """
return [...document.querySelectorAll('button, input, a, select, progress')].filter((one) => {
  const label = one.labels && one.labels[0] ? one.labels[0].textContent : '';
  return !(one.getAttribute('aria-label') || label || one.textContent).trim();
}).map((one) => one.outerHTML);
"""
# Contrast by WCAG 2: at least 4.5 of each text with what is behind it.
FAINT = """
const parse = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const channel = (v) => linear(v / 255);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
function ground(one) {
  for (; one; one = one.parentElement) {
    const c = parse(getComputedStyle(one).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c;
  }
  return [255, 255, 255];
}
return [...document.querySelectorAll('body *')].filter((one) => {
  const own = [...one.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  const disabled = one.closest('button:disabled');
  const unseen = one.closest('.said, .skip, noscript, script') || !one.checkVisibility();
  if (!own || disabled || unseen) return false;
  const [a, b] = [light(parse(getComputedStyle(one).color)), light(ground(one))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
}).map((one) => one.outerHTML.slice(0, 120));
"""


def test_nothing_is_asked_of_other_servers_and_the_page_is_kept_to_itself(page, server):
    reply = httpx.get(server.url)
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    page.log_in()
    page.start()
    seen = page.script(
        "return performance.getEntriesByType('resource').map((one) => new URL(one.name).origin)"
    )
    assert set(seen) == {server.url}


def test_a_server_that_went_away_is_told(page):
    page.log_in()
    page.start()
    page.server.close()
    page.press(page.right_key())
    page.until(lambda: page.find(".error"))
    assert "can't be reached" in page.find(".error")[0].text
    time.sleep(0.1)
    page.driver.get_log("browser")  # connections refused are what was to be seen
