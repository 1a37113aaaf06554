"""What stands between a server and its disk: a device whose power is cut, and calls that fail, wait or kill."""

import os
import signal
import subprocess
import time

DISK_CALLS = "write,pwrite64,fsync,fdatasync,openat,rename,renameat,unlink,unlinkat,ftruncate,mkdirat"
NAME_CALLS = ("openat", "rename,renameat,renameat2", "unlink,unlinkat,ftruncate,mkdirat")
SYNC_CALLS = "fsync,fdatasync,msync,sync_file_range"


class Disk:
    """ext4 on a loop device, under `peer.data`."""

    def __init__(self, peer, megabytes=400, options=()):
        self.peer, self.image, self.megabytes = peer, os.path.join(peer.folder, "disk"), megabytes
        with open(self.image, "wb") as image:
            image.truncate(megabytes << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", *options, self.image], check=True)
        self.mount()

    def mount(self):
        subprocess.run(["mount", "-o", "loop", self.image, self.peer.data], check=True)

    def unmount(self):
        subprocess.run(["umount", self.peer.data], check=True)

    def settle(self):
        """What is there by now is written out, as after a while the system does by itself."""
        subprocess.run(["sync", "-f", self.peer.data], check=True)

    def cut(self):
        self.peer.process.send_signal(signal.SIGSTOP)
        subprocess.run(["cp", "--sparse=always", self.image, self.image + ".cut"], check=True)
        self.peer.kill()
        self.unmount()
        os.replace(self.image + ".cut", self.image)
        self.mount()


def strace(inject, pid=None):
    """Calls that fail, wait or kill; of one that runs, or as words before a command."""
    words = [
        "strace",
        "-f",
        "-qqq",
        "-o",
        "/dev/null",
        "-e",
        "signal=none",
        "-e",
        "trace=" + inject.split(":")[0],
        "-e",
        "inject=" + inject,
    ]
    if pid is None:
        return [*words, "-D"]
    tracer = subprocess.Popen([*words, "-p", str(pid)], stderr=subprocess.DEVNULL)
    time.sleep(1)
    return tracer


def detach(tracer):
    tracer.send_signal(signal.SIGINT)
    tracer.wait()
