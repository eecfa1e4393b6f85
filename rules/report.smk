"""The report: every table and figure with its caption, and the graph of rules, in one HTML file."""


rule report:
    """Put the results into one HTML file that needs no network."""
    input:
        leaves=leaves(),
        captions=captions(),
    output:
        f"results/{RUN}/report.html",
    log:
        f"results/{RUN}/logs/report.log",
    benchmark:
        f"results/{RUN}/benchmarks/report.tsv"
    localrule: True
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        configfiles=lambda wildcards: workflow.configfiles,
    shell:
        r"""
        snakemake leaves --nolock --cores 1 --configfile {params.configfiles:q} \
            --report {output:q} >{log:q} 2>&1
        """


rule leaves:
    """Every table and figure."""
    input:
        leaves(),
