"""The report: every table and figure with its caption, and the graph of rules, in one HTML file."""


rule run_time:
    """Where the run's time went. Apart from the leaves, since no two runs take the same time."""
    input:
        leaves(),
    output:
        csv=report(
            f"results/{RUN}/run_time/run_time.csv",
            caption="../workflow/report/run_time.rst",
            category="Run",
            labels={"table": "What the jobs of the run took", "format": "csv"},
        ),
        tex=f"results/{RUN}/run_time/run_time.tex",
        html=report(
            f"results/{RUN}/run_time/run_time.html",
            caption="../workflow/report/run_time.rst",
            category="Run",
            labels={"table": "What the jobs of the run took", "format": "html"},
        ),
        svg=report(
            f"results/{RUN}/run_time/fig_timeline.svg",
            caption="../workflow/report/fig_timeline.rst",
            category="Run",
            labels={"figure": "When the jobs of the run ran"},
        ),
        pdf=f"results/{RUN}/run_time/fig_timeline.pdf",
    log:
        f"results/{RUN}/logs/run_time.log",
    benchmark:
        f"results/{RUN}/benchmarks/run_time.tsv"
    localrule: True
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        benchmarks=f"results/{RUN}/benchmarks",
        title="What the jobs of the run took",
        code=digest("measure_run_time"),
    script:
        "../workflow/scripts/measure_run_time.py"


rule report:
    """Put the results into one HTML file that needs no network."""
    input:
        leaves=leaves(),
        run_time=rules.run_time.output,
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
        snakemake leaves run_time \
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
