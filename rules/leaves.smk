"""Helper functions of the tables and figures that a run ends in; no rule stands here."""

from typing import NamedTuple


class Leaf(NamedTuple):
    """A table or figure: what it is called, what it is made from, and by what."""

    title: str
    inputs: dict
    like: str
    script: str
    options: dict

    @property
    def caption(self):
        """Name of its caption in workflow/report."""
        return Path(self.like).name

    @property
    def function(self):
        """Name of the function that draws it: its own without `fig` and the number."""
        return re.sub(r"^fig_(\d+_)?", "", self.caption)


def leaf(title, *, like="", script="write_leaf", options=None, **inputs):
    """A table or figure made from `inputs`, with the columns and the caption of `like`.

    `options` are those of the function that builds a table.
    """
    return Leaf(title, inputs, like, script, options or {})


def every_leaf(contents):
    """Category, name and leaf of all that have something to be made from."""
    missing = [
        table(name)
        for of_category in TABLES.values()
        for name, leaf in of_category.items()
        if not all(leaf.inputs.values())
    ]
    return [
        (category, name, leaf._replace(like=leaf.like or name))
        for category, of_category in contents.items()
        for name, leaf in of_category.items()
        if all(paths and paths not in missing for paths in leaf.inputs.values())
    ]


def table(name):
    """Path of a table that others are made from."""
    return f"results/{RUN}/tables/{name}.csv"


def published(*names):
    """Published figures, where a data set of the papers is part of the run."""
    return [f"config/published/{name}.csv" for name in names if PUBLISHED]


def counts_published(name):
    """Published counts and what sets them beside ours; whether any belong there, it finds out."""
    return dict(
        published=f"config/published/{name}.csv", script="write_beside_published"
    )


def parts_of(name):
    """The data sets of the run that are a data set of the paper, or its training part."""
    return [part for part in DATASETS if part in (name, f"{name}_train")]


def numbered(first):
    """Number and data set of the tables that the paper numbers by data set, from `first` on."""
    return [(first + PAPER1.index(name), name) for name in PUBLISHED]


def leaves():
    """Every table and figure of the run."""
    galleries = [f"paper1/{ds}/{name}" for ds in DETECTED for name in GALLERIES]
    names = {
        "tables": [name for _, name, _ in every_leaf(TABLES)],
        "figures": [name for _, name, _ in every_leaf(FIGURES)] + galleries,
    }
    suffixes = {"tables": ["csv", "tex", "html"], "figures": ["svg", "pdf"]}
    return [
        f"results/{RUN}/{kind}/{name}.{suffix}"
        for kind in names
        for name in names[kind]
        for suffix in suffixes[kind]
    ]


def captions():
    """Captions of the report."""
    return sorted(
        str(path.relative_to(workflow.basedir)) for path in CODE.glob("report/*.rst")
    )
