// Watching a running game, and what its player tells of its thinking.

import { api } from "./api.js";
import { el, letter, money, pyramid, say, show } from "./dom.js";

const EVERY_MS = 700;
const SEEN_S = 0.005; // shorter stages say nothing

export async function watch(sessionId) {
  let over = false;
  let after = 0;
  let level = null;
  let events = [];
  let drawn = "";
  const seconds = el("p", { class: "soft" });
  const place = el("div", { class: "columns" });
  const question = el("section", { class: "card", "aria-label": "Question" });
  const stages = el("section", { class: "card", "aria-label": "What the player does" }, el("h2", {}, "What the player does"));
  const list = el("ol", { class: "stages" });
  const side = el("aside", { "aria-label": "The game" });
  stages.append(list);
  place.append(el("div", {}, question, stages), side);
  show("Watching", [el("h1", { tabindex: "-1", "data-focus": true }, `Watching game ${sessionId}`), place], {
    leaving: () => { over = true; },
  });

  while (!over) {
    let seen;
    try {
      seen = await api.watch(sessionId, after);
    } catch (error) {
      if (over) return;
      question.replaceChildren(el("p", { class: "error" }, error.message));
      if (error.status === 404 || error.status === 401) return;
      await pause();
      continue;
    }
    if (over) return;
    if (seen.level !== level) {
      level = seen.level;
      events = [];
      list.replaceChildren();
      if (seen.state.question) say(`Level ${level}`);
    }
    for (const event of seen.events) {
      after = Math.max(after, event.n);
      if (event.level === level) {
        events.push(event);
        if (event.kind !== "stage" || event.seconds >= SEEN_S) list.append(stage(event));
      }
    }
    draw(seen);
    if (seen.status !== "in_progress") {
      say(`The game is over: ${ended(seen)}`);
      return;
    }
    await pause();
  }

  // Drawn anew only when something changed: people select texts, and screen readers have a place.
  function draw(seen) {
    const asked = seen.state.question;
    const answer = events.findLast((event) => event.kind === "answer");
    seconds.textContent = seen.remainingSeconds === null ? "" : `${Math.ceil(seen.remainingSeconds)} s left`;
    const now = JSON.stringify([asked, answer, seen.status, seen.past.length, seen.tellsStages]);
    if (now === drawn) return;
    drawn = now;
    const parts = [el("p", { class: "soft" }, `${seen.username} · ${seen.competition} · ${seen.mode} · level ${seen.level} of ${seen.maxLevel}`)];
    if (asked) {
      parts.push(el("p", { class: "asked" }, asked.text ?? "A spoken question"));
      parts.push(seconds);
      parts.push(
        el("ol", { class: "options" }, asked.options.map((option, at) => {
          const chosen = answer && option.text !== null && option.text === answer.text;
          return el("li", { class: `option ${chosen ? "chosen" : ""}` }, el("kbd", {}, letter(at)), el("span", {}, option.text ?? `Option ${letter(at)}`));
        })),
      );
    } else {
      parts.push(el("p", { class: `verdict ${seen.status === "completed" ? "right" : "wrong"}` }, ended(seen)));
    }
    question.replaceChildren(...parts);
    stages.hidden = !seen.tellsStages;
    const past = [...seen.past].reverse().map((one) =>
      el("li", {}, el("span", { class: "kind" }, `Level ${one.level}: ${one.correct ? "right" : "wrong"}`), one.text ?? "A spoken question", one.chosen ? el("div", {}, `→ ${one.chosen}`) : null),
    );
    side.replaceChildren(
      el("div", { class: "card" }, el("h2", {}, "Prizes"), pyramid(seen.state.moneyPyramid, seen.level, seen.level - 1)),
      el("div", { class: "card" }, el("h2", {}, "So far"), past.length ? el("ol", { class: "stages" }, past) : el("p", { class: "soft" }, "Nothing was answered yet.")),
    );
  }
}

const pause = () => new Promise((done) => setTimeout(done, EVERY_MS));

function ended(seen) {
  const words = { completed: "everything right", failed: "a wrong answer", timeout: "the time was up" };
  return `${words[seen.status] ?? seen.status}, ${money(seen.earnedAmount)}.`;
}

function stage(event) {
  const kind = (text) => el("span", { class: "kind" }, text);
  switch (event.kind) {
    case "query":
      return el("li", {}, kind("searches for"), event.text);
    case "hits":
      return el("li", {}, kind(`found ${event.titles.length}`), el("ul", {}, event.titles.map((title) => el("li", {}, title))));
    case "passages":
      return el("li", {}, kind(`reads ${event.items.length} passages from`), el("ul", {}, event.items.map((item) => el("li", {}, item.score === null ? item.source : `${item.source} (${item.score.toFixed(2)})`))));
    case "read":
      return el("li", {}, el("details", {}, el("summary", {}, "what the model was given"), el("pre", {}, event.text)));
    case "output":
      return el("li", {}, kind("the model wrote"), el("pre", {}, event.text));
    case "answer":
      return el("li", {}, kind(`answers (${event.basis})`), el("strong", {}, event.text));
    default: {
      const bar = el("span", { class: "bar", "aria-hidden": "true" });
      bar.style.width = `${Math.min(10, event.seconds * 0.6)}rem`;
      return el("li", {}, el("span", { class: "kind" }, `${event.name}: ${event.seconds.toFixed(2)} s`, bar));
    }
  }
}
