"""A Slurm cluster of two nodes on this machine, for as long as a test needs it.

Daemons of Debian's packages munge, slurmctld and slurmd run on loopback ports as the user at hand,
with everything of theirs in one folder. Slurm's commands find the cluster through wrappers on PATH,
so that no /etc/slurm/slurm.conf is left behind and none that is there is read.
"""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("sacct", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")
NODES = ("node1", "node2")
CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=1
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=7200
MailProg=/bin/true
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=64000
NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=64000
PartitionName=test Nodes=node[1-2] Default=YES MaxTime=INFINITE State=UP
"""


class NoClusterError(RuntimeError):
    """Why there can be no cluster on this machine."""


def program(name: str) -> str:
    """Path of one of Slurm's programs. Raises NoClusterError where it is not installed."""
    path = shutil.which(name, path=os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"]))
    if path is None:
        raise NoClusterError(
            f"{name} is not installed: apt-get install munge slurm-client slurmctld slurmd"
        )
    return path


def require_network() -> None:
    """Raise NoClusterError where loopback is all there is, which the daemons' look-ups ignore."""
    try:
        socket.getaddrinfo("localhost", None, socket.AF_INET, flags=socket.AI_ADDRCONFIG)
    except socket.gaierror as error:
        raise NoClusterError("its daemons need a network address besides loopback's") from error


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody uses."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def write_files(folder: Path) -> None:
    """Configuration, key, folders and the wrappers of Slurm's commands."""
    for name in ("state", "bin", *NODES):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(1024))
    values = {"folder": folder, "user": getpass.getuser(), "host": socket.gethostname()}
    text = CONFIGURATION.format(ports=free_ports(3), **values)
    (folder / "slurm.conf").write_text(text, encoding="utf-8")
    for name in COMMANDS:
        wrapper = folder / "bin" / name
        line = f'SLURM_CONF="{folder}/slurm.conf" exec {program(name)} "$@"'
        wrapper.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        wrapper.chmod(0o755)


def daemon_commands(folder: Path) -> dict[str, list[str]]:
    """The daemons in the order of their start, each to stay in the foreground."""
    munge = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid"}
    munge |= {"log-file": "munged.log", "seed-file": "munge.seed"}
    options = [f"--{option}={folder / name}" for option, name in munge.items()]
    slurmd = [program("slurmd"), "-D", "-f", str(folder / "slurm.conf")]
    return {
        "munged": [program("munged"), "--foreground", "--force", *options],
        "slurmctld": [program("slurmctld"), "-D", "-f", str(folder / "slurm.conf")],
        **{node: [*slurmd, "-N", node] for node in NODES},
    }


def wait_for_nodes(folder: Path, environment: dict[str, str], seconds: float = 30) -> None:
    """Return when every node is idle. Raises TimeoutError, with the logs' ends, if none gets so."""
    until = time.monotonic() + seconds
    sinfo = ["sinfo", "--noheader", "--Node", "--format", "%T"]
    while time.monotonic() < until:
        states = subprocess.run(sinfo, env=environment, capture_output=True, text=True, check=False)
        if states.stdout.split() == ["idle"] * len(NODES):
            return
        time.sleep(0.2)
    logs = [path.read_text(encoding="utf-8")[-1000:] for path in sorted(folder.glob("*.log"))]
    raise TimeoutError("\n".join(["the nodes of the Slurm cluster did not become idle", *logs]))


@contextmanager
def slurm_cluster(folder: Path) -> Iterator[dict[str, str]]:
    """Environment variables under which Slurm's commands speak to a cluster in `folder`.

    The daemons are stopped by their process ids at the end. Raises NoClusterError where a program
    or a network is missing, TimeoutError where the daemons do not get to work.
    """
    require_network()
    write_files(folder)
    environment = dict(os.environ, PATH=f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    with ExitStack() as stack:
        for name, command in daemon_commands(folder).items():
            log = stack.enter_context(open(folder / f"{name}.log", "ab"))
            process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
            stack.callback(stop, process)
            if name == "munged":
                wait_for(folder / "munge.socket")
        wait_for_nodes(folder, environment)
        stack.callback(stop_jobs, environment)
        yield environment


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a daemon and wait until it has."""
    process.terminate()
    process.wait(30)


def stop_jobs(environment: dict[str, str], seconds: float = 20) -> None:
    """Cancel what is still at work, which the daemons' end would not stop."""
    subprocess.run(["scancel", "--user", getpass.getuser()], env=environment, check=False)
    until = time.monotonic() + seconds
    while time.monotonic() < until and subprocess.check_output(["squeue", "-h"], env=environment):
        time.sleep(0.2)


def wait_for(path: Path, seconds: float = 10) -> None:
    """Return when `path` is there or the time is up."""
    until = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.05)
