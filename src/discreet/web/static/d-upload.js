// A file sent in pieces, with progress; where the connection is lost it goes on from the last byte.
// Without this the form sends it in one go.
const PIECE = 8 << 20;

class Upload extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("form");
    this.field = this.querySelector("input[type=file]");
    if (!this.form || !this.field) return;
    this.form.addEventListener("submit", (event) => {
      const file = this.field.files[0];
      if (!file) return;
      event.preventDefault();
      this.#start(file);
    });
    for (const name of ["dragenter", "dragover"]) {
      this.addEventListener(name, (event) => {
        event.preventDefault();
        this.form.classList.add("over");
      });
    }
    for (const name of ["dragleave", "drop"]) this.addEventListener(name, () => this.form.classList.remove("over"));
    this.addEventListener("drop", (event) => {
      event.preventDefault();
      if (event.dataTransfer.files.length) {
        this.field.files = event.dataTransfer.files;
        this.#start(event.dataTransfer.files[0]);
      }
    });
  }

  #start(file) {
    if (this.busy) return;
    this.busy = true;
    this.bar = document.createElement("progress");
    this.bar.className = "progress";
    this.bar.max = file.size;
    this.bar.value = 0;
    this.bar.setAttribute("aria-label", this.dataset.sending);
    this.line = document.createElement("p");
    this.line.setAttribute("role", "status");
    this.form.append(this.bar, this.line);
    this.#send(file).catch((problem) => this.#refused(problem.message));
  }

  #refused(words) {
    this.busy = false;
    this.bar.remove();
    this.line.className = "notice no";
    this.line.textContent = words;
    for (const button of this.form.querySelectorAll("button")) button.disabled = false;
  }

  async #ask(method, path, options = {}) {
    const headers = { "X-CSRF-Token": this.dataset.csrf, Accept: "application/json", ...options.headers };
    const answer = await fetch(`/api/v1${path}`, { method, body: options.body, headers });
    if (answer.status >= 500) throw new TypeError("busy");
    const body = await answer.json();
    if (!answer.ok && answer.status !== 409) throw new Error(body.detail);
    return body;
  }

  async #send(file) {
    let draft = this.dataset.draft;
    if (!draft) {
      const said = { file: file.name, bytes: file.size };
      if (this.dataset.dataset) said.dataset = this.dataset.dataset;
      const headers = { "Content-Type": "application/json" };
      draft = (await this.#ask("POST", "/drafts", { body: JSON.stringify(said), headers })).id;
    }
    let at = (await this.#ask("GET", `/drafts/${draft}`)).received;
    let waits = 500;
    while (at < file.size) {
      try {
        const headers = { "Content-Type": "application/octet-stream", "Upload-Offset": String(at) };
        await this.#ask("PATCH", `/drafts/${draft}/file`, { body: file.slice(at, at + PIECE), headers });
        const now = await this.#ask("GET", `/drafts/${draft}`);
        if (now.state !== "uploading") break;
        at = now.received;
        waits = 500;
      } catch (problem) {
        if (!(problem instanceof TypeError)) throw problem;
        this.line.textContent = this.dataset.waiting;
        await new Promise((done) => setTimeout(done, waits));
        waits = Math.min(2 * waits, 15000);
        at = await this.#ask("GET", `/drafts/${draft}`).then((now) => now.received, () => at);
        continue;
      }
      this.bar.value = at;
      const share = Math.floor((100 * at) / file.size);
      this.line.textContent = `${this.dataset.sending}: ${share} ${this.dataset.of} 100`;
    }
    location.assign(`/custodian/new/${draft}`);
  }
}

customElements.define("d-upload", Upload);
