"""The child program of the embedded model: llama.cpp's server on a loopback port.

It is run by its path, so that it starts without the rest of the package. It reads one line of JSON from stdin
(``model``, ``alias``, ``key``, ``parent``, ``context``, ``slots``, ``threads``), loads the model, writes one line of
JSON with its ``address`` to stdout, and serves until stdin ends, which it does when the parent does.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from typing import Any

# Bytes for the states of earlier prompts, so that one that is asked about again is not read again. In MiB.
_KEPT_PROMPTS = 512


def main() -> None:
    """Serve until the parent is gone."""
    answers = _own_stdout()
    given = json.loads(sys.stdin.buffer.readline())
    _end_with(given["parent"])
    _no_core_dump()  # it would hold the prompts
    threading.Thread(target=_watch_stdin, daemon=True).start()
    try:
        server = _serve(given)
    except (ImportError, RuntimeError) as error:
        sys.exit(str(error))
    answers.write(json.dumps({"address": server.listening_address}).encode() + b"\n")
    answers.close()
    threading.Event().wait()


def _own_stdout() -> Any:
    """What was stdout. From here on, whatever the engine prints there goes to stderr."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _end_with(parent: int) -> None:
    """Have the kernel end this process with its parent, also while the engine keeps all other threads waiting."""
    if sys.platform != "linux":
        return
    import ctypes
    import signal

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:  # it had gone already
        os._exit(1)


def _no_core_dump() -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _watch_stdin() -> None:
    # Not through sys.stdin: a thread that holds its lock makes the interpreter abort where it should just end.
    while os.read(0, 1):
        pass
    os._exit(0)


def _serve(given: dict[str, Any]) -> Any:
    xllamacpp: Any = importlib.import_module("xllamacpp")  # it has no types
    params = xllamacpp.CommonParams()
    params.model.path = given["model"]
    params.model_alias = {given["alias"]}
    params.port = 0  # the system chooses
    params.api_keys = [given["key"]]
    params.n_parallel = given["slots"]
    params.n_ctx = given["context"] * given["slots"]  # the engine divides it by the slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = given["threads"]
    params.cache_ram_mib = _KEPT_PROMPTS
    _same_whatever_came_before(params, xllamacpp)
    params.verbosity = 1  # errors only
    params.ui = params.endpoint_slots = False
    return xllamacpp.Server(params)


def _same_whatever_came_before(params: Any, xllamacpp: Any) -> None:
    """What a prompt shares with the one before is not read again, and must not change what follows from it.

    Measured, as fast and with no more memory: repacked weights, flash attention and a rounded cache each moved a
    token's log-probability by 0.1 to 0.2 with what had been asked before; without them it moves only when fewer than
    about ten tokens are new.
    """
    params.no_extra_bufts = True
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32


if __name__ == "__main__":
    main()
