"""The report: every table and figure with its caption, and the graph of rules, in one HTML file."""


rule report:
    """Put the results into one HTML file that needs no network."""
    input:
        leaves=leaves(),
        captions=captions(),
    output:
        report=f"results/{RUN}/report.html",
        configuration=f"results/{RUN}/configuration.json",
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
        configuration=CONFIGURATION,
    # A run of the engine on its own results: it may not wait for the lock of the run it is part of.
    shell:
        r"""
        printf '%s' {params.configuration:q} >{output.configuration:q}
        snakemake leaves \
            --nolock \
            --cores 1 \
            --replace-workflow-config \
            --configfile {output.configuration:q} \
            --report {output.report:q} \
            >{log:q} 2>&1
        """


rule leaves:
    """Every table and figure."""
    input:
        leaves(),
