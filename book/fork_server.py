"""Run a build whose jobs start as copies of one process that has imported what they need.

``python book/fork_server.py COMMAND …`` runs the command, and meanwhile imports torch and the rest once. Jobs of the
command write ``python book/fork_server.py -m MODULE …`` in place of ``python -m MODULE …``. The module then runs in a
copy of the process, with the job's arguments, folder, variables and output. The kernels of notebooks start so too, by
a kernel specification that Jupyter finds before its own. Where there is no such process, as on the nodes of a
cluster, or no `os.pidfd_open`, as outside Linux, the module runs as ever.
"""

import gc
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path

ADDRESS = "FSLBOOK_WARM"  # the variable that names the socket of the process to copy
IMPORTS = (
    "ipykernel.ipkernel",
    "ipykernel.kernelapp",
    "jupytext",
    "matplotlib.pyplot",
    "papermill",
    "scipy.stats",
    "fslbook.cli",
    "fslbook.figures",
    "fslbook.published",
    "fslcore.cli",
    "fslcore.evaluation",
    "fslcore.stats",
)
INLINE = (
    "module://matplotlib_inline.backend_inline"  # Matplotlib reads its backend when it is imported
)
LARGEST_REQUEST = 2**17  # bytes; the variables are most of them
OUTPUTS = (0, 1, 2)  # with the input


def run_command(command: list[str]) -> int:
    """Run the command with a process to copy, and return its exit status; in a copy, that of a job."""
    if not hasattr(os, "pidfd_open"):
        return subprocess.call(command)
    folder = Path(tempfile.mkdtemp())  # private, and its name is short enough for a socket
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen()
        process = subprocess.Popen(command, env=os.environ | variables_of_jobs(folder))
        _import_modules()
        job = None
        with suppress(KeyboardInterrupt):  # the command has it too, and ends
            job = _serve(listener, process)
    if job is not None:
        return _run_job(*job)
    shutil.rmtree(folder)
    return process.wait()


def variables_of_jobs(folder: Path) -> dict[str, str]:
    """Variables that name the socket, and a kernel specification, which is written, by which kernels are copies too."""
    specification = {
        "argv": [
            sys.executable,
            os.path.abspath(__file__),
            "-m",
            "ipykernel_launcher",
            "-f",
            "{connection_file}",
        ],
        "display_name": "Python 3",
        "language": "python",
    }
    path = folder / "kernels" / "python3" / "kernel.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(specification), "utf-8")
    jupyter_path = [str(folder), *filter(None, [os.environ.get("JUPYTER_PATH")])]
    return {ADDRESS: str(folder / "socket"), "JUPYTER_PATH": os.pathsep.join(jupyter_path)}


def _import_modules() -> None:
    """Import what most jobs need, as they would."""
    os.environ.setdefault("MPLBACKEND", INLINE)
    for name in IMPORTS:
        with suppress(ImportError):  # a job that needs it says so
            import_module(name)
    with suppress(ImportError):
        from fslcore.models.networks import import_torchvision

        import_torchvision()  # which timm would import without what it lacks
        import_module("timm")
    with suppress(ImportError):
        import pandas

        pandas.set_option(
            "display.max_columns", 20
        )  # its default in a kernel, which it looks for when imported
    gc.freeze()  # collections in a copy would touch, and so duplicate, all memory


def _serve(listener: socket.socket, process: subprocess.Popen) -> tuple[dict, list[int]] | None:
    """Copy this process for each request until the command ends; in a copy, its request and open files."""
    command = os.pidfd_open(process.pid)
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ, _accept)
        selector.register(command, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd == command:
                    return None
                job = key.data(selector, key)
                if job is not None:
                    return job


def _accept(
    selector: selectors.BaseSelector, key: selectors.SelectorKey
) -> tuple[dict, list[int]] | None:
    """Copy this process for one request."""
    connection, _ = key.fileobj.accept()
    request, descriptors, *_ = socket.recv_fds(connection, LARGEST_REQUEST, len(OUTPUTS))
    if not request:
        connection.close()
        return None
    copy = os.fork()
    if copy == 0:
        connection.close()
        return json.loads(request), descriptors
    for descriptor in descriptors:
        os.close(descriptor)

    def end(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        """The copy has ended: pass its exit status on."""
        selector.unregister(key.fd)
        os.close(key.fd)
        status = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
        with suppress(OSError):
            connection.send(str(status).encode())
        with suppress(KeyError):
            selector.unregister(connection)
        connection.close()

    def stop(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        """The job was stopped: so is the copy."""
        selector.unregister(connection)
        os.kill(copy, signal.SIGTERM)

    selector.register(connection, selectors.EVENT_READ, stop)
    selector.register(os.pidfd_open(copy), selectors.EVENT_READ, end)
    return None


def _run_job(request: dict, descriptors: list[int]) -> int:
    """Run the module of a request in this copy, as ``python -m`` does."""
    for descriptor, target in zip(descriptors, OUTPUTS):
        os.dup2(descriptor, target)
        os.close(descriptor)
    if request["leads_session"]:  # a kernel does, so that Ctrl-C does not reach it
        os.setsid()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["variables"])
    module, *sys.argv[1:] = request["arguments"]
    search_path = request["variables"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:1] = [request["folder"], *filter(None, search_path)]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    return 0


def run_module(arguments: list[str]) -> int:
    """Run a module with its arguments, in a copy of the process that the variable names, if there is one."""
    address = os.environ.get(ADDRESS)
    if address is None:
        os.execv(sys.executable, [sys.executable, "-m", *arguments])
    request = {
        "arguments": arguments,
        "folder": os.getcwd(),
        "variables": dict(os.environ),
        "leads_session": os.getsid(0) == os.getpid(),
    }
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches the copy too, whose status is awaited
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(address)
        socket.send_fds(connection, [json.dumps(request).encode()], OUTPUTS)
        status = int(connection.recv(16) or 1)
    return status if status >= 0 else 128 - status  # as a shell reports signals


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(run_module(arguments[1:]) if arguments[:1] == ["-m"] else run_command(arguments))
