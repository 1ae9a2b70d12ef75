// The verdict while it is not known: an old one stays until it takes long, a lost connection is said
// and tried again. What it says comes with the page; without scripts the next page says it.

class Verdict extends HTMLElement {
  #timer = null;

  connectedCallback() {
    this.waits = () => this.#say("wait", this.dataset.checking);
    this.lost = (event) => this.#lost(event.detail);
    this.back = () => this.again?.();
    document.addEventListener("discreet:waits", this.waits);
    document.addEventListener("discreet:lost", this.lost);
    addEventListener("online", this.back);
  }

  disconnectedCallback() {
    clearInterval(this.#timer);
    document.removeEventListener("discreet:waits", this.waits);
    document.removeEventListener("discreet:lost", this.lost);
    removeEventListener("online", this.back);
  }

  /** One line in the bar's own shape; facts and button of the old verdict go, the table stays. */
  #say(kind, words, ...more) {
    const bar = this.querySelector(".verdict");
    bar.className = `verdict ${kind}`;
    const line = document.createElement("p");
    line.className = "say";
    line.textContent = words;
    bar.replaceChildren(line, ...more);
  }

  #lost({ again, offline, seconds }) {
    clearInterval(this.#timer);
    let left = seconds;
    const words = document.createElement("p");
    const button = document.createElement("button");
    button.className = "button act";
    button.textContent = this.dataset.again;
    this.again = () => {
      clearInterval(this.#timer);
      this.again = null;
      again();
    };
    button.addEventListener("click", () => this.again?.());
    const [pattern, head] = offline ? [this.dataset.kept, this.dataset.lost] : [this.dataset.busy, ""];
    const count = () => {
      words.textContent = pattern.replace("#", left);
      if (left-- <= 0) this.again?.();
    };
    this.#say("wait", head, words, button);
    count();
    this.#timer = setInterval(count, 1000);
  }
}

customElements.define("d-verdict", Verdict);
