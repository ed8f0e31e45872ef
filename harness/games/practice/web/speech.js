// A spoken question: the question's clip, then the options one by one.

import { api } from "./api.js";
import { el, letter, say } from "./dom.js";

// `clipsGiven` options were delivered before, as after a reload; `onLast` is called when the
// last one has been delivered, which starts the clock.
export function spokenClips(game, count, clipsGiven, onLast) {
  const player = new Audio();
  let given = clipsGiven;
  let address = null;

  async function play(path) {
    const blob = await api.clip(game, path);
    if (address) URL.revokeObjectURL(address);
    address = URL.createObjectURL(blob);
    player.src = address;
    // Without a press of a key or a button, browsers refuse to play; then it is there to be pressed.
    await player.play().catch(() => say("Press the button again to hear it."));
  }

  const note = el("p", { class: "soft" });
  const question = el("button", { type: "button", "data-focus": true, onclick: () => play("question") }, "Hear the question");
  const next = el("button", { type: "button", onclick: hearNext });
  const again = el("div", { class: "clips", role: "group", "aria-label": "Hear again" });

  async function hearNext() {
    next.disabled = true;
    const place = given;
    try {
      await play("option/next");
      given += 1;
      if (given === count) await onLast();
    } finally {
      if (given > place) offer(place);
      label();
    }
  }

  function offer(place) {
    again.append(
      el("button", { type: "button", class: "quiet", onclick: () => play(`option/${place}`) }, `${letter(place)} again`),
    );
  }

  function label() {
    next.disabled = given >= count;
    next.textContent = given < count ? `Hear option ${letter(given)}` : "All options heard";
    note.textContent =
      given < count
        ? `Take your time: the ${count === 4 ? "thirty seconds" : "time"} begin with option ${letter(count - 1)}.`
        : "The clock runs.";
  }

  for (let place = 0; place < given; place += 1) offer(place);
  label();
  const element = el("div", {}, el("div", { class: "clips" }, question, next), note, again);
  return {
    element,
    get complete() { return given >= count; },
    stop() {
      player.pause();
      if (address) URL.revokeObjectURL(address);
    },
  };
}
