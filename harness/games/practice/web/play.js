// Playing a game: the question, the clock, the verdict.

import { api } from "./api.js";
import { el, letter, money, pyramid, say, show, shout } from "./dom.js";
import { spokenClips } from "./speech.js";

const TOLD_AT_S = [20, 10, 5];
const SHOWN_MS = 500;

export async function play(state, lobby, limitS) {
  let current = state;
  let over = false;
  let clips = null;
  let timer = null;

  const place = el("div", { class: "columns" });

  function leaving() {
    over = true;
    clearInterval(timer);
    clips?.stop();
    document.removeEventListener("keydown", pressed);
  }

  document.addEventListener("keydown", pressed);
  show("Playing", [place], { leaving, focus: false });
  await ask();

  async function ask(before = "") {
    clearInterval(timer);
    clips?.stop();
    clips = null;
    const question = current.question;
    const spoken = current.mode === "speech";
    const clock = makeClock(limitS);
    const options = question.options.map((option, at) => optionButton(option, at));
    const parts = [
      el("p", { class: "soft" }, `${current.competition.name} · level ${current.currentLevel} of ${current.maxLevel}`),
    ];
    const heading = el("h1", { class: "asked", tabindex: "-1", id: "asked", "data-focus": !spoken }, spoken ? "Listen to the question" : question.text);
    parts.push(heading);
    if (spoken) {
      const given = await delivered(current.sessionId);
      clips = spokenClips(current.sessionId, question.options.length, given, startClock);
      parts.push(clips.element);
    }
    const verdict = el("div", {}, before ? el("p", { class: "verdict right" }, before) : null);
    parts.push(clock.element, el("ol", { class: "options", "aria-labelledby": "asked" }, options.map((one) => el("li", {}, one))), verdict);
    place.replaceChildren(
      el("section", { class: "card", "aria-label": "Question" }, parts),
      el("aside", { class: "card", "aria-label": "Prizes" }, el("h2", {}, "Prizes"), pyramid(current.moneyPyramid, current.currentLevel, current.currentLevel - 1)),
    );
    place.querySelector("[data-focus]")?.focus();
    say(`${before} Level ${current.currentLevel}. ${spoken ? "A spoken question." : question.text}`);
    if (!spoken || clips.complete) await startClock();

    async function startClock() {
      const { remainingSeconds } = await api.remaining(current.sessionId);
      if (over || remainingSeconds === null) return;
      clock.start(remainingSeconds);
      const told = new Set(TOLD_AT_S.filter((at) => at > remainingSeconds));
      timer = setInterval(() => {
        const left = clock.tick();
        for (const at of TOLD_AT_S) {
          if (left <= at && !told.has(at)) {
            told.add(at);
            say(`${at} seconds`);
          }
        }
        if (left <= 0) {
          clearInterval(timer);
          settle();
        }
      }, 200);
    }

    // The time is up by our clock; the server's word counts, and it may need a moment more.
    async function settle() {
      for (let tries = 0; tries < 20 && !over; tries += 1) {
        const now = await api.state(current.sessionId).catch(() => null);
        if (now && now.status !== "in_progress") return end({ timedOut: true, ...now }, null);
        await new Promise((done) => setTimeout(done, 250));
      }
      if (!over) lost(new Error("The time is up, but the server does not say so."), verdict);
    }

    place.choose = async (at) => {
      const option = question.options[at];
      if (!option || options[at].disabled) return;
      if (clips && !clips.complete) {
        say("Hear all options first.");
        return;
      }
      clearInterval(timer);
      options.forEach((one) => { one.disabled = true; });
      options[at].classList.add("chosen");
      let result;
      try {
        result = await api.answer(current.sessionId, option.id);
      } catch (error) {
        return lost(error, verdict);
      }
      options[at].classList.add(result.correct ? "right" : "wrong");
      if (result.gameOver) return end(result, options[at]);
      // The next question's time runs already, so there is no more than a look at this one.
      await new Promise((done) => setTimeout(done, SHOWN_MS));
      if (over) return;
      current = { ...current, ...result };
      await ask(`Right: ${money(result.earnedAmount)} so far.`);
    };

    async function lost(error, where) {
      shout(error.message);
      // The answer may have arrived all the same: the state tells.
      const now = await api.state(current.sessionId).catch(() => null);
      if (!now) {
        where.replaceChildren(
          el("p", { class: "error" }, error.message),
          el("button", { type: "button", onclick: () => lost(error, where) }, "Try again"),
        );
        return;
      }
      if (now.status !== "in_progress") return end({ timedOut: now.status === "timeout", ...now }, null);
      current = now;
      await ask();
    }
  }

  function optionButton(option, at) {
    const text = option.text ?? `Option ${letter(at)}`;
    return el("button", { type: "button", class: "option", "aria-keyshortcuts": `${at + 1} ${letter(at)}`, onclick: () => place.choose(at) }, el("kbd", { "aria-hidden": "true" }, letter(at)), el("span", {}, text));
  }

  function end(result, chosen) {
    leaving();
    const won = result.status === "completed";
    const words = won ? "You answered everything right!" : result.timedOut ? "Time is up." : "That was wrong.";
    const heading = el("h1", { tabindex: "-1", "data-focus": true }, words);
    const levels = result.reachedLevel ?? (won ? current.maxLevel : current.currentLevel - 1);
    const story = chosen ? el("p", {}, `Your answer: ${chosen.textContent.slice(1) || letter(0)}`) : null;
    show("Game over", [
      el(
        "section",
        { class: "card" },
        heading,
        story,
        el("p", { class: `verdict ${won ? "right" : "wrong"}` }, `Level ${levels} of ${current.maxLevel}, ${money(result.earnedAmount)}.`),
        el("div", { class: "clips" },
          el("button", { type: "button", onclick: () => lobby(current.competition.id, current.mode) }, "Play again"),
        ),
      ),
    ]);
    say(`${words} Level ${levels}, ${money(result.earnedAmount)}.`);
  }

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, select")) return;
    const at = "1234".indexOf(event.key) >= 0 ? "1234".indexOf(event.key) : "abcd".indexOf(event.key.toLowerCase());
    if (event.key.length === 1 && at >= 0) {
      event.preventDefault();
      place.choose?.(at);
    }
  }
}

async function delivered(sessionId) {
  const { games } = await api.mine();
  return games.find((game) => game.sessionId === sessionId)?.clips ?? 0;
}

// A clock that counts by this page's own monotonic time from what the server said was left.
function makeClock(limitS) {
  const seconds = el("strong", { "aria-hidden": "true" }, "–");
  const bar = el("progress", { max: limitS, value: limitS, "aria-label": "Time left" });
  const element = el("div", { class: "clock", role: "timer" }, seconds, bar);
  let endMs = null;
  return {
    element,
    start(leftS) {
      endMs = performance.now() + leftS * 1000;
      this.tick();
    },
    tick() {
      const left = Math.max(0, (endMs - performance.now()) / 1000);
      seconds.textContent = `${Math.ceil(left)} s`;
      bar.value = left;
      element.classList.toggle("late", left <= 5);
      return left;
    },
  };
}
