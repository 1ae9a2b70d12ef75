// Makes the pages quicker; without it everything works by links and forms.
// Another page of the builder is fetched and its parts take the place of the old ones. Nothing here
// computes a number, and no text becomes markup: the browser itself parses what the server sends.

/**
 * The page at an address, parsed by the browser, with where it really is and its status.
 * @param {string} address
 * @returns {Promise<{page: Document|null, at: string, status: number, wait: number}>}
 */
export function fetched(address, signal) {
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.open("GET", address);
    const end = () => {
      const to = new URL(request.responseURL || address, location.href);
      const wait = Number(request.getResponseHeader("Retry-After")) || 0;
      done({ page: request.response, at: to.pathname + to.search, status: request.status, wait });
    };
    request.onload = request.onerror = request.onabort = end;
    signal?.addEventListener("abort", () => request.abort());
    request.send();
  });
}

const PARTS = [".shelf", ".work"];
let running = null;

/** Show another address of the builder without leaving the page; where that fails, go there. */
export async function go(address, { replace = false, focus = "" } = {}) {
  running?.abort();
  const now = (running = new AbortController());
  const work = document.querySelector(".work");
  const tell = (name, detail) => document.dispatchEvent(new CustomEvent(`discreet:${name}`, { detail }));
  const slow = setTimeout(() => {
    work?.setAttribute("aria-busy", "true");
    tell("waits");
  }, 300);
  const { page, at, status, wait } = await fetched(address, now.signal);
  clearTimeout(slow);
  work?.removeAttribute("aria-busy");
  if (now.signal.aborted) return;
  if (!status || status === 429 || status === 503) {
    tell("lost", { again: () => go(address, { replace, focus }), offline: !status, seconds: wait || 8 });
    return;
  }
  const fits = page && PARTS.every((part) => page.querySelector(part) && document.querySelector(part));
  if (!fits) {
    location.assign(address);
    return;
  }
  const keep = focus || described(document.activeElement);
  for (const part of PARTS) {
    document.querySelector(part).replaceWith(document.adoptNode(page.querySelector(part)));
  }
  document.title = page.title;
  if (replace) history.replaceState(null, "", at);
  else if (at !== location.pathname + location.search) history.pushState(null, "", at);
  furnish();
  const there = keep && document.querySelector(keep);
  if (there) there.focus({ preventScroll: true });
  document.dispatchEvent(new CustomEvent("discreet:shown"));
}

/** What finds an element again on the next page: its chip, its link. */
function described(element) {
  const chip = element?.closest?.("[data-name]");
  if (chip) return `[data-name="${CSS.escape(chip.dataset.name)}"] > summary`;
  const variable = element?.closest?.("[data-variable]");
  if (variable) return `[data-variable="${CSS.escape(variable.dataset.variable)}"] > summary`;
  return element?.id ? `#${CSS.escape(element.id)}` : "";
}

/** Say something that is also on the page, for a few seconds. */
export function toast(words) {
  document.querySelector(".toast")?.remove();
  const box = document.createElement("p");
  box.className = "toast";
  box.setAttribute("role", "status");
  box.textContent = words;
  document.body.append(box);
  const gone = () => (box.matches(":hover") ? setTimeout(gone, 2000) : box.remove());
  setTimeout(gone, 6000);
}

function inBuilder(link) {
  const here = location.pathname;
  return /^\/build\/[^/]+$/.test(here) && link.origin === location.origin && link.pathname === here && !link.hash;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (!document.querySelector(".builder") || !inBuilder(link)) return;
  event.preventDefault();
  link.closest("details[name]")?.removeAttribute("open");
  go(link.pathname + link.search);
});

addEventListener("popstate", () => {
  if (document.querySelector(".builder")) go(location.pathname + location.search, { replace: true });
});

/** What needs a script is shown where there is one; long texts are kept until they are sent. */
function furnish() {
  for (const button of document.querySelectorAll("[data-copy][hidden], [data-letters][hidden]")) button.hidden = false;
  for (const field of document.querySelectorAll("[data-keep] textarea")) {
    const key = location.pathname + field.name;
    field.value ||= sessionStorage.getItem(key) ?? "";
    field.addEventListener("input", () => sessionStorage.setItem(key, field.value));
    if (document.querySelector(".notice.ok")) {
      field.value = "";
      sessionStorage.removeItem(key);
    }
  }
}
furnish();
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  await navigator.clipboard?.writeText(button.dataset.copy).catch(() => {});
  toast(button.dataset.said);
});
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-letters]");
  if (!button) return;
  const off = localStorage.getItem("letters") !== "off";
  localStorage.setItem("letters", off ? "off" : "on");
  toast(off ? button.dataset.off : button.dataset.on);
});

// five minutes before a session ends by itself its reader is asked
customElements.define("d-session", class extends HTMLElement {
  connectedCallback() {
    const left = Number(this.dataset.ends) - 300;
    this.timer = setTimeout(() => (this.hidden = false), Math.max(0, Math.min(left * 1000, 2 ** 31 - 1)));
  }
  disconnectedCallback() {
    clearTimeout(this.timer);
  }
});

// one press, one form
document.addEventListener("submit", (event) => {
  const button = event.target.querySelector("button");
  if (event.target.method === "post" && button) setTimeout(() => (button.disabled = true));
});
addEventListener("pageshow", () => {
  for (const button of document.querySelectorAll("form button:disabled")) button.disabled = false;
});

// a menu closes by Escape and by a click elsewhere
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const open = document.querySelector("details[name][open]");
  if (open) {
    open.removeAttribute("open");
    open.querySelector("summary").focus();
  }
});
document.addEventListener("click", (event) => {
  for (const open of document.querySelectorAll("details[name][open]")) {
    if (!open.contains(event.target)) open.removeAttribute("open");
  }
});

// single letters, outside of fields only; a reader can switch them off
const LETTERS = {
  "/": () => document.querySelector("#find, #seek")?.focus(),
  "?": () => location.assign("/account#keys"),
  p: () => round("percent"), i: () => round("intervals"),
  t: () => view(0), h: () => view(1), n: () => view(2), k: () => view(3),
  x: () => document.querySelector(".turn")?.click(),
  g: () => document.querySelector("#verdict :is(button, a)")?.focus(),
  d: () => openTool(1), y: () => copyAddress(),
  "[": () => document.querySelector(".pages [rel=prev]")?.click(),
  "]": () => document.querySelector(".pages [rel=next]")?.click(),
};
/** The next choice of a group of choices, and from the last back to the first. */
function round(group) {
  const links = [...document.querySelectorAll(`[data-group=${group}] a`)];
  const at = links.findIndex((link) => link.hasAttribute("aria-current"));
  links[(at + 1) % links.length]?.click();
}
function view(at) {
  document.querySelectorAll(".views a")[at]?.click();
}
function openTool(at) {
  const tool = document.querySelectorAll(".tools .drop")[at];
  if (tool) {
    tool.open = true;
    tool.querySelector("summary").focus();
  }
}
async function copyAddress() {
  const field = document.querySelector("#address");
  if (!field) return;
  await navigator.clipboard?.writeText(field.value).catch(() => {});
  toast(field.dataset.copied);
}
document.addEventListener("keydown", (event) => {
  const quiet = event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem("letters") === "off";
  if (quiet || event.target.closest?.("input, textarea, select, .grid")) return;
  const chip = event.target.closest?.(".chip");
  if (chip && chipKey(chip, event)) return event.preventDefault();
  if (event.key === "Enter" && event.shiftKey) return document.querySelector("#verdict .act button")?.click();
  const act = LETTERS[event.key.toLowerCase()];
  if (act) {
    event.preventDefault();
    act();
  }
});
function chipKey(chip, event) {
  const named = { ArrowLeft: "←", ArrowRight: "→", Delete: "Del", Backspace: "Del", "-": "−" }[event.key] ?? event.key.toUpperCase();
  const link = [...chip.querySelectorAll("a[data-key]")].find((one) => one.dataset.key === named);
  link?.click();
  return Boolean(link);
}
document.addEventListener("focusin", (event) => {
  if (event.target.matches?.("#address")) event.target.select();
});
