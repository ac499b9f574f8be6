"""How `attn lab` reads notebooks: only a solution may say that it is paired with a text. Knows no question.

A notebook of the first edition names a text beside it, which would be shown in place of its answers.
"""

from typing import Any

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

PAIRED = "solutions/"
Model = dict[str, Any]  # of a file, as Jupyter's server has it


class Contents(AsyncLargeFileManager):
    """Files as JupyterLab knows them, without the pairs that a student's notebook asks for."""

    async def get(
        self,
        path: str,
        content: bool = True,
        type: str | None = None,
        format: str | None = None,
        require_hash: bool = False,
    ) -> Model:
        model = await super().get(path, content, type, format, require_hash)
        forget_pair(path, model)
        return model

    async def save(self, model: Model, path: str = "") -> Model:
        forget_pair(path, model)
        return await super().save(model, path)


def forget_pair(path: str, model: Model) -> None:
    """Take the formats out of a notebook's metadata, but in the folder of the solutions."""
    is_solution = path.lstrip("/").startswith(PAIRED)
    if is_solution or model.get("type") != "notebook" or not model.get("content"):
        return
    metadata = model["content"]["metadata"]
    pairing = metadata.get("jupytext", {})
    pairing.pop("formats", None)
