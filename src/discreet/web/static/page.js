// Makes the pages quicker; without it everything works by links and forms.
// Another page of the builder is fetched and its parts take the place of the old ones. Nothing here
// computes a number, and no text becomes markup: the browser itself parses what the server sends.

/** @param {string} address @returns {Promise<Document|null>} the page there, parsed by the browser */
export function fetched(address, signal) {
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.open("GET", address);
    request.onload = () => done(request.response);
    request.onerror = request.onabort = () => done(null);
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
  const slow = setTimeout(() => work?.setAttribute("aria-busy", "true"), 300);
  const page = await fetched(address, now.signal);
  clearTimeout(slow);
  work?.removeAttribute("aria-busy");
  if (now.signal.aborted) return;
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
  if (replace) history.replaceState(null, "", address);
  else if (address !== location.pathname + location.search) history.pushState(null, "", address);
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
  t: () => view(0), h: () => view(1), n: () => view(2), k: () => view(3),
  x: () => document.querySelector(".turn")?.click(),
  g: () => document.querySelector("#verdict :is(button, a)")?.focus(),
  d: () => openTool(1), y: () => copyAddress(),
  "[": () => document.querySelector(".pages [rel=prev]")?.click(),
  "]": () => document.querySelector(".pages [rel=next]")?.click(),
};
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
  const act = LETTERS[event.key.toLowerCase()];
  if (act) {
    event.preventDefault();
    act();
  }
});
function chipKey(chip, event) {
  const named = { ArrowLeft: "←", ArrowRight: "→", Delete: "Del", Backspace: "Del" }[event.key] ?? event.key.toUpperCase();
  const link = [...chip.querySelectorAll("a[data-key]")].find((one) => one.dataset.key === named);
  link?.click();
  return Boolean(link);
}
document.addEventListener("focusin", (event) => {
  if (event.target.matches?.("#address")) event.target.select();
});
