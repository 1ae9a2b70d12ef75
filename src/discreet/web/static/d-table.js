// Cells can be walked through with arrows; each says its interval and where it stands; two of them
// are compared by Enter or C. What is said was on the page already or is asked of the server.
import { go } from "./page.js";

class Table extends HTMLElement {
  #first = null;

  connectedCallback() {
    this.table = this.querySelector("table");
    if (!this.table || this.table.classList.contains("ghost") || this.querySelector("input")) return;
    const start = this.querySelector("tbody td");
    if (start) start.tabIndex = 0;
    this.addEventListener("keydown", (event) => this.#key(event));
    this.addEventListener("focusin", (event) => this.#tell(event.target.closest("td")));
    this.addEventListener("focusout", () => this.#hide());
    this.addEventListener("pointerover", (event) => this.#tell(event.target.closest("tbody td")));
    this.addEventListener("pointerleave", () => this.#hide());
    this.addEventListener("click", (event) => this.#pin(event.target.closest("tbody td")));
  }

  disconnectedCallback() {
    this.#hide();
  }

  #grid() {
    return [...this.table.querySelectorAll("tbody tr:not(.layer)")].map((row) => [...row.querySelectorAll("td")]);
  }

  #key(event) {
    const cell = event.target.closest("td");
    if (!cell) return;
    const grid = this.#grid();
    const y = grid.findIndex((row) => row.includes(cell));
    const x = grid[y].indexOf(cell);
    const back = getComputedStyle(this).direction === "rtl" ? -1 : 1;
    const to = {
      ArrowUp: [y - 1, x], ArrowDown: [y + 1, x], ArrowLeft: [y, x - back], ArrowRight: [y, x + back],
      Home: [event.ctrlKey ? 0 : y, 0], End: [event.ctrlKey ? grid.length - 1 : y, grid[y].length - 1],
    }[event.key];
    if (to) {
      event.preventDefault();
      const next = grid[to[0]]?.[to[1]];
      if (!next) return;
      cell.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
      next.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else if (event.key === "Enter" || event.key.toLowerCase() === "c") {
      event.preventDefault();
      this.#pin(cell);
    } else if (event.key.toLowerCase() === "s") {
      event.preventDefault();
      this.#heads(cell).at(-1)?.querySelector?.("a")?.click();
    } else if (event.key === "Escape") {
      this.#hide();
      const clear = document.querySelector("[data-clear]");
      if (clear) clear.click();
      this.#mark(null);
    }
  }

  /** The codes of a cell: of its layer, its rows, its columns. */
  #codes(cell) {
    return [...this.#heads(cell)].map((head) => head.dataset.code).filter((code) => code !== undefined);
  }

  #heads(cell) {
    const row = cell.parentElement;
    const heads = [];
    let above = row;
    while (above && !above.classList.contains("layer")) above = above.previousElementSibling;
    if (above) heads.push(...(above.querySelector("th").dataset.codes ?? "").split("\n").filter(Boolean).map((code) => ({ dataset: { code }, textContent: "" })));
    const deep = this.table.querySelectorAll("thead tr:last-child .head").length;
    const found = new Map();
    for (let up = row; up && found.size < deep && !up.classList.contains("layer"); up = up.previousElementSibling) {
      const own = [...up.querySelectorAll("th")];
      own.forEach((head, i) => {
        const depth = deep - own.length + i;
        if (!found.has(depth)) found.set(depth, head);
      });
    }
    heads.push(...[...found.entries()].sort((a, b) => a[0] - b[0]).map((entry) => entry[1]));
    const at = [...row.querySelectorAll("td")].indexOf(cell);
    for (const line of this.table.querySelectorAll("thead tr")) {
      let begin = 0;
      for (const head of line.querySelectorAll("th:not(.head)")) {
        const wide = head.colSpan || 1;
        if (at >= begin && at < begin + wide) heads.push(head);
        begin += wide;
      }
    }
    return heads;
  }

  #pin(cell) {
    if (!cell || cell.classList.contains("off")) return;
    const named = name(this.#codes(cell));
    if (!this.#first || this.#first === named) {
      this.#first = this.#first === named ? null : named;
      this.#mark(this.#first ? cell : null);
      return;
    }
    const address = new URL(location.href);
    address.searchParams.set("a", this.#first);
    address.searchParams.set("b", named);
    go(address.pathname + address.search);
  }

  #mark(cell) {
    for (const old of this.querySelectorAll("td.first")) {
      old.classList.remove("first", "pin");
    }
    cell?.classList.add("first", "pin");
    if (!cell) this.#first = null;
  }

  #tell(cell) {
    if (!cell || this.hasAttribute("quiet")) return;
    this.#hide();
    const words = [...this.#heads(cell)].map((head) => head.textContent.trim()).filter(Boolean).join(", ");
    const note = cell.querySelector("abbr")?.title ?? "";
    const inside = !cell.classList.contains("sum") && !cell.parentElement.classList.contains("total") && !cell.classList.contains("off");
    const widths = inside && !cell.querySelector("small") ? this.dataset.within : "";
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.id = "tip";
    tip.setAttribute("role", "tooltip");
    const strong = document.createElement("b");
    strong.textContent = words;
    tip.append(strong);
    for (const text of [note, cell.querySelector("small")?.textContent, widths]) {
      if (!text) continue;
      const line = document.createElement("p");
      line.textContent = text;
      tip.append(line);
    }
    const box = cell.getBoundingClientRect();
    document.body.append(tip);
    const left = Math.min(box.left + scrollX, scrollX + document.documentElement.clientWidth - tip.offsetWidth - 8);
    const below = box.bottom + tip.offsetHeight + 8 < innerHeight;
    tip.style.setProperty("inset-inline-start", "auto");
    tip.style.setProperty("left", `${Math.max(8, left)}px`);
    tip.style.setProperty("top", `${(below ? box.bottom + 6 : box.top - tip.offsetHeight - 6) + scrollY}px`);
    cell.setAttribute("aria-describedby", "tip");
  }

  #hide() {
    document.querySelector("#tip")?.remove();
    this.querySelector("[aria-describedby=tip]")?.removeAttribute("aria-describedby");
  }
}

function name(codes) {
  const plain = codes.every((code) => code === code.trim() && code !== "" && !/[",]/.test(code));
  return plain ? codes.join(",") : codes.map((code) => `"${code.replaceAll('"', '""')}"`).join(",");
}

customElements.define("d-table", Table);
