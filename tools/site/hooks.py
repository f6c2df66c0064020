"""What MkDocs calls while it builds the site (mkdocs.yml)."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from tools.site import nav, notebooks, reference
from tools.site.links import ROOT, SHOWN, rewritten

PROMPTED = re.compile(r"^```python\n(>>> .*?)^```$", re.DOTALL | re.MULTILINE)
BUTTONS = re.compile(r"<p>(<a (?:(?!</p>).)*·(?:(?!</p>).)*)</p>", re.DOTALL)  # the first paragraph of links
SOURCES = {page: source for source, page in SHOWN.items()}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    names = [{reference.title(path): path} for path in reference.pages()]
    below = {"api.md": [*names, {"For methods of your own": list(reference.package_pages())}]}
    config.nav = nav.navigation((Path(config.docs_dir) / "README.md").read_text(), below)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Pages that are not files of docs/: the reference, notebooks, and two of the repository."""
    for path, text in (reference.pages() | reference.package_pages()).items():
        files.append(File.generated(config, path, content=text))
    for source, path in SHOWN.items():
        files.append(File.generated(config, path, content=(ROOT / source).read_text()))
    for file in [f for f in files if f.src_uri.endswith(".ipynb")]:
        page = file.src_uri.removesuffix(".ipynb") + ".md"
        files.append(File.generated(config, page, content=notebooks.markdown(Path(str(file.abs_src_path)))))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    path = page.file.src_uri
    if path == "README.md":
        page.meta = {"template": "home.html", "hide": ["navigation", "toc"], "title": "Shoal"}
    if path == "api.md":
        markdown = reference.index(markdown)
    return rewritten(prompts(markdown), SOURCES.get(path, f"docs/{path}"))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The first page: links below the sentence as buttons, facts as cards."""
    if page.file.src_uri != "README.md":
        return html
    buttons = re.sub(r"<a ", '<a class="md-button" ', re.sub(r"\s*·\s*", "", BUTTONS.findall(html)[0]))
    html = BUTTONS.sub(lambda _: f'<p class="go-on">{buttons}</p>', html, count=1)
    return re.sub(r"<ul>", '<ul class="facts">', html, count=1)


def prompts(markdown: str) -> str:
    """Blocks of Python with prompts, named for what they are; the empty line that ends a test is left out.

    >>> prompts("```python\\n>>> 1\\n1\\n\\n```")
    '```pycon\\n>>> 1\\n1\\n```'
    """
    return PROMPTED.sub(lambda found: f"```pycon\n{found[1].rstrip()}\n```", markdown)
