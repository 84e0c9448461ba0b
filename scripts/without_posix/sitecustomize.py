"""Hide the Python modules and functions that Windows lacks, to find code on Linux that depends on them.

    PYTHONPATH=scripts/without_posix python …

Every Python process imports this file at start-up. Names without which Python or its packages would not start on Linux
are kept: `posix`, signals, child processes, `getuid`, `uname` and `sendfile`. `mypy --platform win32` finds their uses.
"""

import asyncio
import os
import shutil
import sys
import tempfile  # noqa: F401 - it reads the names when it is imported

_MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
_NAMES = (
    *("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_SYNC", "O_DSYNC", "O_CLOEXEC"),
    *("chown", "chroot", "confstr", "fchmod", "fchown", "fdatasync", "fork", "forkpty", "fpathconf", "fstatvfs"),
    *("getegid", "getgid", "getgroups", "getloadavg", "getpgid", "getpgrp", "getpriority", "getsid"),
    *("killpg", "lchown", "lockf", "mkfifo", "mknod", "nice", "openpty", "pathconf", "pread", "preadv"),
    *("pwrite", "pwritev", "readv", "sched_getaffinity", "sched_setaffinity", "sched_yield", "setpgid"),
    *("setsid", "setuid", "statvfs", "sync", "sysconf", "sysconf_names", "writev"),
)


def _refuse(*_: object) -> None:
    raise NotImplementedError  # like the event loops on Windows


for _loop in (asyncio.BaseEventLoop, asyncio.SelectorEventLoop):
    setattr(_loop, "add_signal_handler", _refuse)  # noqa: B010 - a type checker refuses the assignment
vars(shutil)["_use_fd_functions"] = False  # these functions need some of the hidden names
for _module in _MODULES:
    sys.modules[_module] = None  # type: ignore[assignment]
for _name in _NAMES:
    if hasattr(os, _name):
        delattr(os, _name)
