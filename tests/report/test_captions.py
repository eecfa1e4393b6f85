from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import jinja2
import pytest

from labelquality.report.tables import LEAVES

docutils = pytest.importorskip("docutils.core", reason="docutils comes with Snakemake")

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


def test_every_caption_that_a_rule_names_exists_and_none_is_left_over(repository: Path) -> None:
    sources = [repository / "Snakefile", *(repository / "rules").glob("*.smk")]
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    named = set(re.findall(r"workflow/report/(\w+)\.rst", text))
    assert named | {"workflow"} == {path.stem for path in CAPTIONS}
