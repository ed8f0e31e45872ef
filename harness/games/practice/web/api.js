// The quiz's protocol, and what this server has beside it.

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refused(0, "The server can't be reached. Is it still running?");
  }
  if (!response.ok) {
    const told = await response.json().catch(() => ({}));
    throw new Refused(response.status, told.message ?? `The server answered ${response.status}.`);
  }
  return response;
}

const json = async (method, path, body) => {
  const text = await (await ask(method, path, body)).text();
  return text ? JSON.parse(text) : {};
};

export const api = {
  me: () => json("GET", "/api/auth/me"),
  login: (username, password) => json("POST", "/api/auth/login", { username, password }),
  logout: () => json("POST", "/api/auth/logout", {}),
  competitions: () => json("GET", "/api/competitions"),
  leaderboard: (id, mode) => json("GET", `/api/leaderboard/${id}?mode=${mode}&limit=10`),
  start: (competitionId, mode) => json("POST", "/api/game/start", { competitionId, mode }),
  state: (id) => json("GET", `/api/game/${id}/state`),
  answer: (id, optionId) => json("POST", `/api/game/${id}/answer`, { optionId }),
  clip: async (id, path) => (await ask("GET", `/api/game/${id}/audio/${path}`)).blob(),
  about: () => json("GET", "/api/hotseat"),
  running: () => json("GET", "/api/hotseat/games"),
  mine: () => json("GET", "/api/hotseat/games/mine"),
  remaining: (id) => json("GET", `/api/hotseat/game/${id}/remaining`),
  watch: (id, after) => json("GET", `/api/hotseat/game/${id}?after=${after}`),
};
