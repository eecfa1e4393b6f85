"""Downloads: the files that the data sets' `downloads` name, each below its data set's root.

results/{run}/data/{dataset}/downloads/{file}.json    that a file is there, and its hash

The files themselves are no outputs: outputs are deleted before a job runs again.
"""


rule download_file:
    """Fetch, verify and unpack a file of a data set; one that is there is verified only."""
    output:
        "results/{run}/data/{dataset}/downloads/{file}.json",
    log:
        "results/{run}/logs/download_file/{dataset}/{file}.log",
    benchmark:
        "results/{run}/benchmarks/download_file/{dataset}/{file}.tsv"
    wildcard_constraints:
        file=one_of(d["path"] for ds in DOWNLOADS.values() for d in ds),
    localrule: True
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=1440,
    # Neither code nor addresses decide what the file is; as params they would rerun inference.
    params:
        expected=expected_download,
        root=root,
    script:
        "../workflow/scripts/download_file.py"


rule downloads:
    """Everything that the run has to download."""
    input:
        all_downloads(),
