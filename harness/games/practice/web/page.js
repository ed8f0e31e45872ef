// The page: who you are, what you can play, whom you can watch.

import { api } from "./api.js";
import { el, main, money, say, show, shout } from "./dom.js";
import { play } from "./play.js";
import { watch } from "./watch.js";

const LIST_EVERY_MS = 3000;
let limitS = 30;
let player = null;

const who = document.getElementById("who");
document.getElementById("logout").addEventListener("click", async () => {
  await api.logout().catch(() => {});
  player = null;
  loginView();
});
document.getElementById("home").addEventListener("click", (event) => {
  event.preventDefault();
  if (player) lobby();
});

function known(user) {
  player = user;
  who.hidden = !user;
  document.getElementById("player").textContent = user ? user.username : "";
}

function loginView(message = "") {
  known(null);
  const error = el("p", { class: "error", id: "login-error", role: "alert" }, message);
  const name = el("input", { type: "text", id: "name", autocomplete: "username", required: true, maxlength: 64, "data-focus": true, "aria-describedby": "login-error" });
  const password = el("input", { type: "password", id: "password", autocomplete: "current-password", required: true });
  const enter = el("button", { type: "submit" }, "Log in");
  const form = el(
    "form",
    {
      class: "card",
      onsubmit: async (event) => {
        event.preventDefault();
        enter.disabled = true;
        try {
          const { user } = await api.login(name.value, password.value);
          known(user);
          await begin();
        } catch (problem) {
          error.textContent = problem.message;
          enter.disabled = false;
          password.focus();
        }
      },
    },
    el("h1", {}, "Who wants to be a PoliMillionaire?"),
    el("p", { class: "soft" }, "A practice server. Log in with any name; the first login makes its account, unless the server is closed."),
    el("label", { for: "name" }, "Name"), name,
    el("label", { for: "password" }, "Password"), password,
    error,
    enter,
  );
  show("Log in", [form]);
}

// A game that runs is gone on with, as after a reload.
async function begin() {
  limitS = (await api.about()).limitSeconds;
  const { games } = await api.mine();
  if (games.length) {
    const state = await api.state(games[0].sessionId);
    if (state.status === "in_progress") {
      say("Going on with your game.");
      return play(state, lobby, limitS);
    }
  }
  return lobby();
}

async function lobby(competitionId = null, mode = "text") {
  const { competitions } = await api.competitions();
  const chosen = competitionId ?? competitions[0].id;
  const error = el("p", { class: "error", role: "alert" });
  const board = el("section", { class: "card", "aria-label": "Leaderboard" });
  const running = el("section", { class: "card", "aria-label": "Games to watch" });
  const form = el(
    "form",
    { class: "card", onsubmit: start, onchange: drawBoard },
    el("h1", { tabindex: "-1", "data-focus": true }, "Choose a game"),
    el("fieldset", {}, el("legend", {}, "Competition"), el("div", { class: "choices" }, competitions.map((one) =>
      el("label", {}, el("input", { type: "radio", name: "competition", value: one.id, checked: one.id === chosen }), el("span", {}, one.name, el("small", {}, `${one.maxLevels} levels, ${one.questionCount} questions`))),
    ))),
    el("fieldset", {}, el("legend", {}, "Mode"), el("div", { class: "choices" }, ["text", "speech"].map((one) =>
      el("label", {}, el("input", { type: "radio", name: "mode", value: one, checked: one === mode }), one === "text" ? "Read" : "Listen"),
    ))),
    error,
    el("button", { type: "submit" }, "Start"),
    el("p", { class: "soft" }, "Keys: 1–4 or A–D answer. A wrong or late answer ends the game; the prize so far is kept."),
  );
  let over = false;
  show("Choose a game", [el("div", { class: "columns" }, el("div", {}, form, running), board)], { leaving: () => { over = true; } });
  const wanted = () => new FormData(form);

  async function start(event) {
    event.preventDefault();
    try {
      const state = await api.start(Number(wanted().get("competition")), wanted().get("mode"));
      await play(state, lobby, limitS);
    } catch (problem) {
      error.textContent = problem.message;
      if (problem.status === 401) loginView("Your login has ended.");
    }
  }

  async function drawBoard() {
    const id = Number(wanted().get("competition"));
    const { entries } = await api.leaderboard(id, wanted().get("mode"));
    if (over) return;
    const rows = entries.map((entry, at) =>
      el("tr", { class: entry.username === player?.username ? "mine" : undefined }, el("td", { class: "number" }, at + 1), el("td", {}, entry.username), el("td", { class: "number" }, entry.reachedLevel), el("td", { class: "number" }, money(entry.score))),
    );
    board.replaceChildren(
      el("h2", {}, "Leaderboard"),
      rows.length
        ? el("table", {}, el("thead", {}, el("tr", {}, el("th", { class: "number", scope: "col" }, "#"), el("th", { scope: "col" }, "Player"), el("th", { class: "number", scope: "col" }, "Level"), el("th", { class: "number", scope: "col" }, "Prize"))), el("tbody", {}, rows))
        : el("p", { class: "soft" }, "Nobody has finished a game here yet."),
    );
  }

  async function drawRunning() {
    const { games } = await api.running();
    if (over) return;
    const others = games.filter((game) => game.username !== player?.username);
    const focused = document.activeElement?.dataset?.game;
    running.replaceChildren(
      el("h2", {}, "Games to watch"),
      others.length
        ? el("ul", { class: "stages" }, others.map((game) =>
            el("li", {}, el("span", { class: "kind" }, `${game.competition}, ${game.mode}, level ${game.level}${game.tellsStages ? ", tells its stages" : ""}`),
              el("button", { type: "button", class: "quiet", "data-game": game.sessionId, onclick: () => watch(game.sessionId) }, `Watch ${game.username}`)),
          ))
        : el("p", { class: "soft" }, "Nobody else is playing."),
    );
    if (focused) running.querySelector(`[data-game="${CSS.escape(focused)}"]`)?.focus();
  }

  await Promise.all([drawBoard(), drawRunning()]);
  while (!over) {
    await new Promise((done) => setTimeout(done, LIST_EVERY_MS));
    if (!over) await drawRunning().catch((problem) => { if (problem.status === 401) over = true; });
  }
}

window.addEventListener("unhandledrejection", (event) => {
  const problem = event.reason;
  if (problem?.status === 401) loginView("Your login has ended.");
  else {
    shout(problem?.message ?? String(problem));
    main.prepend(el("p", { class: "error card" }, problem?.message ?? String(problem)));
  }
});

try {
  known((await api.me()).user);
  await begin();
} catch (problem) {
  loginView(problem.status === 401 ? "" : problem.message);
}
