"""Executed notebooks as pages, with the outputs that are kept in them."""

import json
import re

from mkdocs.structure.files import File

# Bold letters and colours of a terminal, which notebooks show and pages do not.
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def on_files(files, config):
    """Make a page of every notebook, and keep the file for download."""
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            files.remove(file)
            files.append(_Notebook(file, config))
            saved = f"notebooks/{file.name}.ipynb"
            files.append(
                File.generated(config, saved, content=file.content_string)
            )
    return files


class _Notebook(File):
    def __init__(self, file, config):
        super().__init__(
            file.src_uri,
            config.docs_dir,
            config.site_dir,
            config.use_directory_urls,
        )

    def is_documentation_page(self):
        return True

    @property
    def content_string(self):
        cells = json.loads(super().content_string)["cells"]
        saved = "../" * self.src_uri.count("/") + f"notebooks/{self.name}.ipynb"
        end = (
            f"---\n\nThis page is a notebook as it ran: [download it]({saved})."
        )
        return "\n\n".join([*map(_cell, cells), end])


def _cell(cell):
    source = _joined(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    code = source.removeprefix("%%sh\n")
    parts = [_fence("python" if code == source else "sh", code)]
    parts += [_output(output) for output in cell["outputs"]]
    return "\n\n".join(part for part in parts if part)


def _output(output):
    if output["output_type"] == "stream":
        return _told(output["text"])
    data = output["data"]
    if "image/png" in data:
        content = _joined(data["image/png"]).strip()
        return f"![What the code draws](data:image/png;base64,{content})"
    if "text/html" in data:
        lines = _joined(data["text/html"]).splitlines()
        inside = "\n".join(line for line in lines if line.strip())
        return f'<div class="output">\n{inside}\n</div>'
    return _told(data["text/plain"])


def _told(text):
    plain = _ESCAPES.sub("", _joined(text))
    lines = [line.rstrip() for line in plain.splitlines()]
    return _fence("text", "\n".join(lines), " .output")


def _fence(language, text, classes=""):
    inside = text.strip("\n")
    return f"````{{ .{language}{classes} }}\n{inside}\n````"


def _joined(text):
    return text if isinstance(text, str) else "".join(text)
