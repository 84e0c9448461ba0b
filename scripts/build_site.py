"""Build the site of the docs in both languages: `make docs`.

    python -m scripts.build_site [FOLDER]

FOLDER has `docs/` and the configurations `mkdocs*.yml` (default: the repository). A broken link is an error.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

_SWITCH = re.compile(r'(<a href=")([^"]*)(" hreflang="(en|zh)" class="md-select__link">)')
_CONFIGURATIONS = ("mkdocs.yml", "mkdocs.zh.yml")


def build_site(folder: Path) -> Path:
    """Build the English site, replace its Chinese pages by those with Chinese labels, and return its folder.

    Raises:
        SystemExit: A page has a broken link; the message is zensical's.
    """
    for configuration in _CONFIGURATIONS:
        words = [str(Path(sys.executable).with_name("zensical")), "build", "--clean", "--strict", "-f", configuration]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
    site, chinese = folder / "site", folder / "site-zh"
    for page in chinese.glob("zh/*.html"):
        shutil.copy(page, site / "zh" / page.name)
    shutil.rmtree(chinese)
    _link_languages(site)
    return site


def _link_languages(site: Path) -> None:
    """Let the language switch of a page open the same page in the other language, if there is one."""
    english = {page.name: page for page in site.glob("*/*.html") if page.parent.name != "zh"}
    english["index.html"] = site / "index.html"
    for translated in site.glob("zh/*.html"):
        if (original := english.get(translated.name)) is not None:
            top = "" if original.parent == site else "../"
            to_original = f"../{original.relative_to(site)}"
            _set_switch(original, {"en": original.name, "zh": f"{top}zh/{translated.name}"})
            _set_switch(translated, {"en": to_original, "zh": translated.name})


def _set_switch(page: Path, targets: dict[str, str]) -> None:
    text = page.read_text("utf-8")
    page.write_text(_SWITCH.sub(lambda found: f"{found[1]}{targets[found[4]]}{found[3]}", text), "utf-8")


if __name__ == "__main__":
    build_site(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1])
