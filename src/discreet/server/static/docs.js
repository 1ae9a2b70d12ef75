// Sends what a form says to the route above it and shows the answer as text.
for (const part of document.querySelectorAll("details")) {
  const form = part.querySelector("form");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const query = new URLSearchParams();
    const headers = {};
    let path = part.dataset.path;
    for (const field of form.querySelectorAll("input")) {
      const { name } = field.dataset;
      if (field.dataset.in === "path") path = path.replace(`{${name}}`, encodeURIComponent(field.value));
      else if (!field.value) continue;
      else if (field.dataset.in === "query") query.append(name, field.value);
      else headers[name] = field.value;
    }
    const token = document.getElementById("token").value;
    if (token) headers.Authorization = `Bearer ${token}`;
    const area = form.querySelector("textarea");
    if (area) headers["Content-Type"] = "application/json";
    const out = part.querySelector("pre");
    out.textContent = "…";
    try {
      const answer = await fetch(query.size ? `${path}?${query}` : path, {
        method: part.dataset.method.toUpperCase(),
        headers,
        body: area ? area.value : undefined,
      });
      const text = await answer.text();
      out.textContent = `${answer.status}\n${text.slice(0, 20000)}${text.length > 20000 ? "\n(more was sent than is shown)" : ""}`;
    } catch (error) {
      out.textContent = `No answer: ${error.message}`;
    }
  });
}
