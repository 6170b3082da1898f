"""Tutorials: Python files with cells, run as notebooks and written as Markdown with their outputs and pictures."""

import os
import tempfile
from pathlib import Path

import jupytext
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from nbconvert import MarkdownExporter


def run_notebook(source: Path, execute: bool = True) -> tuple[str, dict[str, bytes]]:
    """The Markdown of a tutorial, and its pictures by name. A cell that fails is an error."""
    notebook = jupytext.read(source)
    if execute:
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        with tempfile.TemporaryDirectory() as folder:  # kernel and client do not share a working directory
            address = {"transport": "tcp"} if os.name == "nt" else {"transport": "ipc", "ip": f"{folder}/kernel"}
            kernel = AsyncKernelManager(kernel_name="python3", **address)
            resources = {"metadata": {"path": str(source.parent)}}
            NotebookClient(notebook, km=kernel, timeout=1800, startup_timeout=600, resources=resources).execute(
                cleanup_kc=True
            )
    text, resources = MarkdownExporter().from_notebook_node(notebook)
    pictures = {f"{source.stem}_{name}": content for name, content in resources["outputs"].items()}
    for name in resources["outputs"]:
        text = text.replace(f"]({name})", f"]({source.stem}_{name})")
    return text, pictures
