from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import jinja2
import pytest

from labelquality.report.tables import LEAVES

docutils = pytest.importorskip("docutils.core", reason="docutils comes with Snakemake")

LINES = re.MULTILINE | re.DOTALL
CAPTIONS = sorted((Path(__file__).parents[2] / "workflow" / "report").glob("*.rst"))


@pytest.mark.parametrize("path", CAPTIONS, ids=lambda path: path.stem)
def test_captions_are_sound_restructured_text(path: Path) -> None:
    snakemake = SimpleNamespace(wildcards=SimpleNamespace(dataset="scenes"))
    template = jinja2.Template(path.read_text(encoding="utf-8"), undefined=jinja2.StrictUndefined)
    text = template.render(snakemake=snakemake)
    settings = {"report_level": 1, "halt_level": 2}
    html = docutils.publish_parts(text, writer="html", settings_overrides=settings)["body"]
    assert len(html) > 200


def test_every_leaf_table_has_a_caption() -> None:
    assert {Path(name).name for name in LEAVES} <= {path.stem for path in CAPTIONS}


def test_every_leaf_has_a_caption_and_none_is_left_over(repository: Path) -> None:
    rules = (repository / "rules" / f"{name}.smk" for name in ("tables", "figures"))
    text = "".join(path.read_text(encoding="utf-8") for path in rules)
    entries = re.findall(r"""^( +)f?"(?:paper\d|ours)/([^"\n]+)": leaf\((.*?)\n\1\)""", text, LINES)
    leaves = {name for _, name, body in entries if "like=" not in body}
    shared = set(re.findall(r"""like="(?:paper\d|ours)/(\w+)\"""", text))
    sources = [repository / "Snakefile", *(repository / "rules").glob("*.smk")]
    every = "".join(path.read_text(encoding="utf-8") for path in sources)
    single = set(re.findall(r"workflow/report/(\w+)\.rst", every))
    assert len(leaves) > 20
    assert leaves | shared | single == {path.stem for path in CAPTIONS}
