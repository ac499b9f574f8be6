"""How `attn lab` reads notebooks: only a solution may say that it is paired with a text.

A notebook of the first edition names a text beside it, which would be shown in place of its answers. Knows no
question.
"""

from typing import Any

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

PAIRED = "solutions/"


class Contents(AsyncLargeFileManager):
    """Files as JupyterLab knows them, without the pairs that a student's notebook asks for."""

    async def get(
        self,
        path: str,
        content: bool = True,
        type: str | None = None,
        format: str | None = None,
        require_hash: bool = False,
    ) -> dict[str, Any]:
        model = await super().get(path, content, type, format, require_hash)
        forget_pair(path, model)
        return model

    async def save(self, model: dict[str, Any], path: str = "") -> dict[str, Any]:
        forget_pair(path, model)
        return await super().save(model, path)


def forget_pair(path: str, model: dict[str, Any]) -> None:
    """Take the formats out of a notebook's metadata, but in the folder of the solutions."""
    is_notebook = model.get("type") == "notebook" and model.get("content")
    if is_notebook and not path.lstrip("/").startswith(PAIRED):
        model["content"]["metadata"].get("jupytext", {}).pop("formats", None)
