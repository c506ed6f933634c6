"""The door of ``tachograph attach --heap``: opened here, closed by the command."""

from __future__ import annotations

import atexit

from .._native import finish_when_told_to_end
from . import host
from .fork_warning import keep_quiet_about_own_threads
from .paths import writable_path
from .settings import settings_of
from .window import open_client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._native import Client

_is_quiet = False


def start(wishes: dict[str, str]) -> None:
    """Record until the other end of a socket says that it is enough, or is gone.

    A thread of ours waits for that, and needs no interpreter lock: this may be
    the last moment for long that Python code runs here.

    Args:
        wishes: What the command asks for; ``line`` is the path of its socket.

    Raises:
        OSError: The recording cannot be written.
        TachographError: This interpreter or machine cannot be sampled.
    """
    global _is_quiet
    client = open_client(settings_of(wishes), writable_path(wishes["output"]))
    try:
        client.finish_with(wishes["line"])
    except BaseException:
        _finish(client)
        raise
    finish_when_told_to_end()
    atexit.register(_finish, client)
    if not _is_quiet:
        keep_quiet_about_own_threads()
        _is_quiet = True


def _finish(client: Client) -> None:
    """Close the recording when the program ends, unless the command did."""
    if client.is_alive():
        try:
            client.finish(host.thread_names())
        except RuntimeError:  # the command came first
            return
