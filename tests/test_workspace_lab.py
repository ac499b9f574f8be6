"""A student's folder in JupyterLab: an untouched notebook opens without the sign that it is unsaved."""

from chromium import Browser, needs_browser
from jupyter import Jupyter

from attn_course.workspace import commands, update

WIDGET = "window.jupyterapp?.shell.currentWidget"
READY = f"{WIDGET}?.context?.isReady && {WIDGET}.sessionContext?.session?.kernel?.status === 'idle'"


@needs_browser
def test_an_untouched_notebook_is_not_unsaved_after_its_kernel_has_started(tmp_path):
    folder, home = tmp_path / "mine", tmp_path / "home"
    home.mkdir()
    update.init_folder(folder, ["00"])
    command = commands.jupyter_command(folder, "00_start_here.ipynb")[1:]
    lab = Jupyter([*command, "--LabApp.expose_app_in_browser=True"], folder, home)
    browser = Browser(tmp_path)
    try:
        browser.ask("Emulation.setFocusEmulationEnabled", enabled=True)
        address = f"{lab.address}/lab/tree/00_start_here.ipynb?token={lab.token}"
        browser.ask("Page.navigate", url=address)
        browser.wait(READY)
        version = f"{WIDGET}.context.model.getMetadata('language_info').version"
        browser.wait(version)
        assert browser.run(f"{WIDGET}.context.model.dirty") is False
        assert not browser.run("document.querySelector('.lm-TabBar-tab.jp-mod-dirty') !== null")
    finally:
        browser.close()
        lab.close()
