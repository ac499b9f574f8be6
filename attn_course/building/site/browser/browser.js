// The page around JupyterLite: which notebook, what is loading, download, reset, and updates.
"use strict";
(async () => {
  const id = (name) => document.getElementById(name);
  const frame = id("lite");
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const course = await (await fetch("lite/api/course.json", { cache: "no-store" })).json();
  const names = course.notebooks;
  const asked = new URLSearchParams(location.search).get("notebook");
  const name = names.includes(asked) ? asked : names[0];
  const path = `${name}.ipynb`;
  let app = null;
  let isDriveReady = false;

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

  // What a function of attn_course/workspace/browser_drive.py returns for this notebook; no name of the reader's changes.
  async function ask(what) {
    const drive = "__import__('attn_course.workspace.browser_drive', fromlist=['*'])";
    const code = `print(__import__('json').dumps(${drive}.${what}(${JSON.stringify(name)})))`;
    const future = current().sessionContext.session.kernel.requestExecute({ code, store_history: false });
    let told = "";
    let problem = "";
    future.onIOPub = ({ content }) => {
      told += content.text ?? "";
      if (content.ename) problem = `${content.ename}: ${content.evalue}`;
    };
    await future.done;
    if (problem) throw new Error(problem);
    return JSON.parse(told);
  }

  async function reset() {
    if (!confirm("Delete your answers to this notebook from this browser? Download it first if you want to keep them.")) return;
    if (isDriveReady) await ask("forget");
    await contents().delete(path).catch(() => {});
    location.reload();
  }

  async function update() {
    id("update").disabled = true;
    try {
      await download();
      await pause(500);
      const carried = await ask("update");
      await current().context.revert();
      id("news").textContent = `Updated: ${carried} Your notebook as it was is in your downloads.`;
      id("update").hidden = true;
    } catch (error) {
      id("news").textContent = `The update stopped (${error.message}); your answers are kept.`;
      id("update").disabled = false;
    }
  }

  id("download").onclick = download;
  id("reset").onclick = reset;
  id("update").onclick = update;

  say("Loading the notebook …");
  frame.src = `lite/notebooks/index.html?path=${encodeURIComponent(path)}`;
  while (!(app = frame.contentWindow?.jupyterapp)) await pause(100);
  await app.restored;
  while (!current()?.context) await pause(100);
  await current().context.ready;
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
  const code = `${course.installation}\nimport sympy, attn_course.figures`;
  const warmUp = { code, silent: true, store_history: false, stop_on_error: false };
  say("Importing SymPy and the figures …");
  await session().session.kernel.requestExecute(warmUp).done;
  try {
    id("newer").hidden = !(await ask("begin"));
    isDriveReady = true;
  } catch (error) {
    console.warn(`Progress is kept until Python restarts, and nothing can be updated: ${error.message}`);
  }

  const states = { idle: "Ready.", busy: "Running …", restarting: "Python starts again …", dead: "Python has stopped: reload the page." };
  const show = () => say(states[session()?.session?.kernel?.status] ?? "Loading Python …");
  session().statusChanged.connect(show);
  show();
})().catch((error) => {
  document.getElementById("status").textContent = `The notebook could not be loaded (${error.message}). Reload the page.`;
});
