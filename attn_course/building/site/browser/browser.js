// The page around JupyterLite: which notebook, what is loading, download, reset, and newer editions.
"use strict";
(async () => {
  const id = (name) => document.getElementById(name);
  const frame = id("lite");
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const editions = await (await fetch("lite/api/editions.json", { cache: "no-store" })).json();
  const names = Object.keys(editions);
  const asked = new URLSearchParams(location.search).get("notebook");
  const name = names.includes(asked) ? asked : names[0];
  const path = `${name}.ipynb`;
  const key = `attention-course:edition:${name}`;  // the edition a reader began with, once something was saved
  let app = null;

  for (const each of names) id("notebook").add(new Option(each, each, false, each === name));
  id("notebook").onchange = (event) => { location.search = `?notebook=${event.target.value}`; };
  document.title = `${name}: the attention course in your browser`;

  const say = (text) => { if (id("status").textContent !== text) id("status").textContent = text; };
  const contents = () => app.serviceManager.contents;
  const current = () => app.shell.currentWidget;

  async function save() {
    const context = current()?.context;
    if (context?.model?.dirty) await context.save();
  }

  async function download() {
    await save();
    const file = await contents().get(path, { content: true });
    const blob = new Blob([JSON.stringify(file.content, null, 1)], { type: "application/json" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = path;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    say(`${path} goes to your downloads.`);
  }

  // Forget the reader's copy: the notebook of the site comes back.
  async function forget() {
    await contents().delete(path).catch(() => {});
    localStorage.removeItem(key);
    location.reload();
  }

  id("download").onclick = download;
  id("reset").onclick = () => {
    if (confirm("Delete your answers to this notebook from this browser? Download it first if you want to keep them.")) forget();
  };
  id("renew").onclick = async () => { await download(); await pause(500); await forget(); };

  function showEdition() {
    const begun = localStorage.getItem(key);
    id("newer").hidden = !begun || begun === editions[name];
  }

  say("Loading the notebook …");
  showEdition();
  frame.src = `lite/notebooks/index.html?path=${encodeURIComponent(path)}`;
  while (!(app = frame.contentWindow?.jupyterapp)) await pause(100);
  await app.restored;
  while (!current()?.context) await pause(100);
  await current().context.ready;
  contents().fileChanged.connect((_, change) => {
    if (change.type === "save" && !localStorage.getItem(key)) localStorage.setItem(key, editions[name]);
  });
  addEventListener("visibilitychange", save);
  addEventListener("pagehide", save);
  id("download").disabled = id("reset").disabled = false;

  const settings = await (await fetch("lite/jupyter-lite.json")).json();
  const { pyodideUrl } = settings["jupyter-config-data"].litePluginSettings["@jupyterlite/pyodide-kernel-extension:kernel"];
  const python = new URL(pyodideUrl, new URL("lite/", location.href));
  if (!(await fetch(python).catch(() => null))?.ok) {
    say(`Python cannot be loaded from ${python.host}. Check your connection to the internet, then reload the page.`);
    return;
  }
  const began = performance.now();
  const session = () => current()?.sessionContext;
  say("Loading Python, NumPy and SymPy (about 35 MB the first time) …");
  while (!["idle", "busy"].includes(session()?.session?.kernel?.status)) {
    const seconds = Math.round((performance.now() - began) / 1000);
    if (seconds >= 5) say(`Loading Python, NumPy and SymPy (about 35 MB the first time): ${seconds} s …`);
    await pause(500);
  }
  // Python compiles what it imports at every visit, for seconds: better while the first lines are read.
  const warmUp = { code: "import sympy, attn_course.figures", silent: true, store_history: false, stop_on_error: false };
  say("Importing SymPy and the figures …");
  await session().session.kernel.requestExecute(warmUp).done;

  const states = { idle: "Ready.", busy: "Running …", restarting: "Python starts again …", dead: "Python has stopped: reload the page." };
  const show = () => say(states[session()?.session?.kernel?.status] ?? "Loading Python …");
  session().statusChanged.connect(show);
  show();
})().catch((error) => {
  document.getElementById("status").textContent = `The notebook could not be loaded (${error.message}). Reload the page.`;
});
