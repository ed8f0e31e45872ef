// Elements made from values.  Texts only ever become text nodes: questions, pages
// and players' names come from others, and none of them may be markup.

export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const main = document.getElementById("main");

let leave = () => {};

// Shows another view; `leaving` is called when the next one comes.
export function show(title, nodes, { leaving = () => {}, focus = true } = {}) {
  leave();
  leave = leaving;
  document.title = `${title} · Hotseat`;
  main.replaceChildren(...nodes);
  if (focus) (main.querySelector("[data-focus]") ?? main).focus();
}

// Tells those who can't see it.
export function say(text) {
  document.getElementById("status").textContent = text;
}

export function shout(text) {
  document.getElementById("alert").textContent = text;
}

export const money = (amount) => Number(amount).toLocaleString("en");

export const letter = (place) => "ABCDEFGH"[place] ?? "?";

export function pyramid(steps, level, won) {
  const top = steps.length;
  const items = [...steps].reverse().map((step) => {
    const here = step.level === level;
    const classes = [
      step.level <= won ? "won" : "",
      step.level === level + 1 ? "next" : "",
      step.level === top ? "top" : "",
    ];
    return el(
      "li",
      { class: classes.join(" ").trim(), "aria-current": here ? "step" : undefined },
      el("span", {}, `Level ${step.level}`),
      el("span", {}, money(step.amount)),
    );
  });
  return el("ol", { class: "pyramid", reversed: true, "aria-label": "Prizes" }, items);
}
