"""nginx before the lesson, with the README's own directives, TLS and a path of its own."""

import os
import re
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOST = "lesson.localhost"  # every name under localhost is this machine


def find() -> str | None:
    """Find nginx, or get it where that can be done: on Debian, as root."""
    places = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
    found = shutil.which("nginx", path=places)
    if found or not shutil.which("apt-get") or os.geteuid() != 0:
        return found
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "nginx-light", "openssl"]):
        print("No nginx yet: apt-get", *command, flush=True)
        subprocess.run(["apt-get", "-qq", *command], env=environment, check=False)
    return shutil.which("nginx", path=places)


def location() -> str:
    """Read the location block out of the README."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^ +location /lesson/ \{\n.*?^ +\}\n", readme, re.DOTALL | re.MULTILINE)
    return block


@contextmanager
def before(server, folder: Path):
    """Run nginx before a server that was started with ``baseUrlPath=lesson``; gives its address."""
    certificate = [str(folder / name) for name in ("key.pem", "certificate.pem")]
    made = f"req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN={HOST} -keyout".split()
    subprocess.run(
        ["openssl", *made, certificate[0], "-out", certificate[1]], check=True, capture_output=True
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    temporary = "\n".join(
        f"{name}_temp_path {folder / name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"""
        daemon off; pid {folder / "nginx.pid"}; error_log {folder / "error.log"}; events {{}}
        http {{
          access_log off; {temporary}
          upstream lesson {{ server {server.address.removeprefix("http://")}; }}
          server {{
            listen 127.0.0.1:{port} ssl; server_name {HOST};
            ssl_certificate_key {certificate[0]}; ssl_certificate {certificate[1]};
            {location()}
          }}
        }}
        """
    )
    nginx = subprocess.Popen([find(), "-c", str(folder / "nginx.conf"), "-p", str(folder)])
    try:
        end = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert time.monotonic() < end, (folder / "error.log").read_text()
                time.sleep(0.05)
        yield f"https://{HOST}:{port}/lesson"
    finally:
        nginx.terminate()
        nginx.wait(10)
