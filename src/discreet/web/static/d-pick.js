// Categories chosen in a dialog over the table: the server's own page of them, searched as one types.
// Ticks outlive a search; at most a page of categories is there at a time.
import { fetched, go } from "./page.js";

class Pick extends HTMLElement {
  #chosen = new Map();
  #asked = null;
  #waits = 0;

  /** Open the page of a level; null where it cannot be had, and the link is followed instead. */
  static async open(address) {
    const { page, status } = await fetched(address);
    const form = page?.querySelector("form[action$='/chosen']");
    if (status !== 200 || !form) return location.assign(address);
    const pick = document.createElement("d-pick");
    document.body.append(pick);
    pick.#show(page, address);
  }

  #show(page, address) {
    const main = document.adoptNode(page.querySelector("main"));
    this.dialog = document.createElement("dialog");
    this.dialog.className = "picker";
    this.dialog.setAttribute("aria-labelledby", "picker");
    main.querySelector("h1").id = "picker";
    main.querySelector("h1 + p")?.remove();
    this.box = document.createElement("div");
    this.box.className = "flow";
    this.box.append(...main.children);
    this.dialog.append(this.box);
    this.append(this.dialog);
    this.address = new URL(address, location.href);
    this.pinned = document.createElement("ul");
    this.pinned.className = "pinned";
    this.form.querySelector(".choices").before(this.pinned);
    this.#tick();
    this.dialog.addEventListener("close", () => this.remove());
    this.dialog.addEventListener("change", (event) => this.#changed(event.target));
    this.dialog.addEventListener("submit", (event) => this.#sent(event));
    this.dialog.addEventListener("click", (event) => this.#clicked(event));
    this.dialog.addEventListener("keydown", (event) => this.#key(event));
    this.field.addEventListener("input", () => {
      clearTimeout(this.#waits);
      this.#waits = setTimeout(() => this.#find(), 150);
    });
    this.dialog.showModal();
    this.field.focus();
  }

  get form() {
    return this.box.querySelector("form[action$='/chosen']");
  }

  get field() {
    return this.box.querySelector("input[type=search]");
  }

  /** What the list shows as ticked becomes what is chosen, and the other way round after a search. */
  #tick() {
    for (const hidden of this.form.querySelectorAll("input[type=hidden][name=code]")) {
      this.#chosen.set(hidden.value, hidden.value);
      hidden.remove();
    }
    for (const box of this.form.querySelectorAll("input[type=checkbox]")) {
      if (box.checked) this.#chosen.set(box.value, box.closest("label").querySelector("span").textContent);
    }
    this.#mark();
  }

  #mark() {
    for (const box of this.form.querySelectorAll("input[type=checkbox]")) box.checked = this.#chosen.has(box.value);
    const pins = [...this.#chosen].slice(0, 20).map(([code, words]) => {
      const line = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.code = code;
      button.textContent = `${words} ×`;
      line.append(button);
      return line;
    });
    if (this.#chosen.size > 20) {
      const rest = document.createElement("li");
      rest.textContent = `+ ${this.#chosen.size - 20}`;
      pins.push(rest);
    }
    this.pinned.replaceChildren(...pins);
    const count = this.form.querySelector("[data-chosen]");
    if (count) count.textContent = count.dataset.chosen.replace("#", this.#chosen.size.toLocaleString());
  }

  #changed(box) {
    if (box.type !== "checkbox") return;
    if (box.checked) this.#chosen.set(box.value, box.closest("label").querySelector("span").textContent);
    else this.#chosen.delete(box.value);
    this.#mark();
  }

  #clicked(event) {
    const pin = event.target.closest("[data-code]");
    const all = event.target.closest("[data-all]");
    const next = event.target.closest("a[rel]");
    if (pin) {
      this.#chosen.delete(pin.dataset.code);
      this.#mark();
    } else if (all) {
      const near = all.dataset.all === "shown" ? this.form : this.#group(all.closest("li"));
      for (const box of near.querySelectorAll?.("input[type=checkbox]") ?? near) {
        box.checked = true;
        this.#chosen.set(box.value, box.closest("label").querySelector("span").textContent);
      }
      this.#mark();
    } else if (event.target.closest("[data-none]")) {
      this.#chosen.clear();
      this.#mark();
    } else if (next) {
      event.preventDefault();
      this.#list(new URL(next.href));
    } else if (event.target === this.dialog) this.dialog.close();
  }

  /** The boxes of one group of the list. */
  #group(head) {
    const boxes = [];
    for (let line = head.nextElementSibling; line && !line.classList.contains("group"); line = line.nextElementSibling) {
      boxes.push(...line.querySelectorAll("input"));
    }
    return boxes;
  }

  #find() {
    const address = new URL(this.address);
    address.searchParams.delete("offset");
    address.searchParams.set("find", this.field.value);
    this.#list(address);
  }

  async #list(address) {
    this.#asked?.abort();
    const now = (this.#asked = new AbortController());
    const { page } = await fetched(address.pathname + address.search, now.signal);
    const list = page?.querySelector(".choices");
    if (now.signal.aborted || !list) return;
    this.form.querySelector(".choices").replaceWith(document.adoptNode(list));
    this.form.querySelector(".onward")?.replaceWith(document.adoptNode(page.querySelector(".onward")));
    this.#mark();
  }

  #sent(event) {
    event.preventDefault();
    if (event.target !== this.form) return this.#find();
    const said = new FormData(this.form);
    said.delete("code");
    for (const code of this.#chosen.keys()) said.append("code", code);
    const there = `${new URL(this.form.action).pathname}?${new URLSearchParams(said)}`;
    this.dialog.close();
    go(there);
  }

  #key(event) {
    const inList = event.target.closest?.(".choices");
    if (event.ctrlKey && event.key === "a" && inList) {
      event.preventDefault();
      this.form.querySelector("[data-all=shown]")?.click();
    } else if (event.key === "Enter" && event.target.type === "checkbox") {
      event.preventDefault();
      this.form.requestSubmit();
    }
  }
}

customElements.define("d-pick", Pick);

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-pick]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  link.closest("details[name]")?.removeAttribute("open");
  Pick.open(link.pathname + link.search);
});
