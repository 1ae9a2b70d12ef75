// Results while one types, taken from the page that the form itself leads to.
import { fetched } from "./page.js";

class Find extends HTMLElement {
  #waits = 0;
  #asked = null;

  connectedCallback() {
    this.form = this.querySelector("form");
    this.field = this.querySelector("input[type=search]");
    if (!this.field) return;
    this.box = document.createElement("div");
    this.box.className = "menu results";
    this.box.hidden = true;
    this.box.setAttribute("aria-live", "polite");
    this.append(this.box);
    this.field.addEventListener("input", () => {
      clearTimeout(this.#waits);
      this.#waits = setTimeout(() => this.#ask(), 150);
    });
    this.addEventListener("keydown", (event) => this.#key(event));
    this.addEventListener("focusout", (event) => {
      if (!this.contains(event.relatedTarget)) this.box.hidden = true;
    });
  }

  async #ask() {
    this.#asked?.abort();
    if (this.field.value.trim().length < 2) {
      this.box.hidden = true;
      return;
    }
    const now = (this.#asked = new AbortController());
    const address = new URL(this.form.action);
    address.search = new URLSearchParams(new FormData(this.form)).toString();
    const { page } = await fetched(address.pathname + address.search, now.signal);
    if (now.signal.aborted || !page) return;
    const groups = [...page.querySelectorAll("main section")];
    this.box.replaceChildren();
    for (const group of groups) {
      const head = document.createElement("p");
      head.className = "inert";
      head.textContent = group.querySelector("h2")?.textContent ?? "";
      this.box.append(head, ...[...group.querySelectorAll("li a")].slice(0, 6).map((link) => document.adoptNode(link)));
    }
    if (!groups.length) this.box.textContent = page.querySelector("main .lead")?.textContent ?? "";
    this.box.hidden = false;
  }

  #key(event) {
    const links = [...this.box.querySelectorAll("a")];
    if (this.box.hidden || !links.length) return;
    const at = links.indexOf(document.activeElement);
    if (event.key === "ArrowDown") links[Math.min(at + 1, links.length - 1)].focus();
    else if (event.key === "ArrowUp") (links[at - 1] ?? this.field).focus();
    else if (event.key === "Escape") {
      this.box.hidden = true;
      this.field.focus();
    } else return;
    event.preventDefault();
  }
}

customElements.define("d-find", Find);
